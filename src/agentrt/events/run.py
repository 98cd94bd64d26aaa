"""A run: model calls, ratings, executions, hooks, and its end."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from ..specs import Durability, SecurityRisk
from ..specs.condensers import CondensationReason
from ..specs.flow import Label, Sink
from ..specs.hooks import HookEvent
from ..specs.rules import Verdict
from ..specs.summary import Summary
from ..usage import Usage
from .base import Event, ExecutionStatus, Id, Source


class ModelCallStarted(Event, frozen=True, kw_only=True):
    """A model call is about to be sent; this event is durable before the first byte leaves."""

    source: Source = "agent"
    command: Id


class BudgetReserved(Event, frozen=True, kw_only=True):
    """The most that a model call may use, if there is a budget; durable before the first byte leaves."""

    source: Source = "agent"
    command: Id
    tokens: int
    cost: float = 0.0
    usage_id: str = "default"


class ModelCallRetried(Event, frozen=True, kw_only=True):
    """A try of a model call failed with `code`; after `wait` seconds another try follows, with `next_model`.

    The deltas that name `draft` are void. `usage` and `cost` are estimates; they are empty for a try that was refused
    at once.
    """

    source: Source = "agent"
    command: Id
    attempt: int
    model: str
    next_model: str
    code: str
    detail: str
    wait: float = 0.0
    draft: Id | None = None
    usage: Usage = Usage()
    cost: float | None = None
    usage_id: str = "default"


class ModelCalled(Event, frozen=True, kw_only=True):
    """A model call has ended. `cost` is in USD (None: no price known), times are in seconds, `error` is a code."""

    source: Source = "agent"
    command: Id
    model: str
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0
    time_to_first_token: float | None = None
    usage_id: str = "default"
    llm_response_id: str | None = None
    error: str | None = None
    estimated: bool = False
    prompt_estimate: int = 0
    """For a call that was answered: the estimated tokens of its prompt, if there is a budget."""
    window: int = 0
    """For the agent's own call: the tokens that its model can read; 0: unknown."""


class RiskAssessed(Event, frozen=True, kw_only=True):
    """The rating of an action, with the `sinks` that its effect reaches and the `labels` that its result will have."""

    action_id: Id
    risk: SecurityRisk
    reason: str = ""
    sinks: tuple[Sink, ...] = ()
    labels: tuple[Label, ...] = ()
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """The files that the action runs, by path: the digest at the time of the rating, or a mark that the file was
    missing.
    """


class ActionRevised(Event, frozen=True, kw_only=True):
    """A hook rewrote an action's arguments, and with them the resources that the action touches.

    If the source is the environment: a file that the action runs has changed since the rating. In both cases the action
    is rated again before it runs.
    """

    source: Source = "hook"
    action_id: Id
    arguments_json: msgspec.Raw = msgspec.field(name="arguments")
    resources: tuple[str, ...] | None = None


class HookRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one hook; `hook` is its command or the name of its function, `seconds` its duration."""

    hook: str
    verdict: Verdict = "allow"
    reason: str = ""
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    seconds: float = 0.0


class HookExecutionEvent(Event, frozen=True, kw_only=True):
    """The hooks of an event have run, with this result for the action or message `target`."""

    source: Source = "hook"
    hook_event: HookEvent
    target: Id = ""
    verdict: Verdict = "allow"
    reason: str = ""
    runs: tuple[HookRun, ...] = ()


class CriticAssessed(Event, frozen=True, kw_only=True):
    """The agent's finished work was judged: `score` from 0 to 1, and the missing parts.

    With `midway` the work was judged before it was finished, and the score has no effect; `error` gives the reason if
    that judgement failed.
    """

    critic: str
    score: float
    success: bool
    message: str = ""
    midway: bool = False
    error: str = ""
    refine: bool = False
    """Whether the critic asked for more, however high the score."""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    """Other findings of the critic."""


class ExecutionStarted(Event, frozen=True, kw_only=True):
    """A tool is about to run; this event is durable before it does."""

    action_id: Id
    command: Id
    attempt: int = 1


class ExecutionLost(Event, frozen=True, kw_only=True):
    """An execution that is safe to repeat was cut, by a crash or when the conversation was left: the action is due
    again.
    """

    action_id: Id
    begun: bool = True
    """Whether it may have had effects."""


class CondensationRequest(Event, frozen=True, kw_only=True):
    """The view must shrink before the next model call: a person asked for it, or the model refused the view as too
    long.
    """

    reason: str = ""


class Condensation(Event, frozen=True, kw_only=True):
    """The view forgets these events; a summary takes the place of the first.

    Masked results stay, without their output. If no event is forgotten or masked, none could be.
    """

    forgotten_event_ids: tuple[Id, ...] = ()
    summary: str = ""
    masked_event_ids: tuple[Id, ...] = ()
    reason: CondensationReason | None = None
    standing_event_ids: tuple[Id, ...] | None = None
    """The forgotten events whose texts stay in force, such as skills and the plan: the view has them after the summary.
    None: the event is of a version that put nothing back.
    """
    facts: Summary | None = None
    """The parts of the summary, for the next summary that replaces it."""
    labels: tuple[Label, ...] = ()
    """The origins of untrusted content that the summary was made from."""
    problem: str = ""
    """Why no model wrote the summary, or why no event could be forgotten."""
    tokens_before: int = 0
    """The estimated tokens of the view before."""
    tokens_after: int = 0


class StuckDetected(Event, frozen=True, kw_only=True):
    """The agent repeats itself; `pattern` names how. After a `nudge` the agent goes on, otherwise it is stopped."""

    pattern: str
    detail: str = ""
    nudge: bool = False


class RunEnded(Event, frozen=True, kw_only=True):
    """The run is over, and the conversation has this status.

    The agent has given its last answer ("answered"), or there was nothing for it to do ("nothing_to_do"). Errors,
    limits, pauses and repetition end a run by events of their own.
    """

    status: ExecutionStatus
    reason: str


class DurabilityChanged(Event, frozen=True, kw_only=True):
    """How events are committed from here on. The epoch is new: events of the one before may be lost, though a client
    saw them.
    """

    durability: Durability
    epoch: int


class WorkspaceSnapshot(Event, frozen=True, kw_only=True):
    """The files of the workspace as they were after event `at`, as a git tree in a store of the conversation.

    "before": the tree was made before the agent acts, so other people may have changed files since the previous tree.
    "after": the agent may have changed them, by the `calls` (the seqs of their events) that ran since the previous
    tree. With `writes`, these calls declared that they write only those paths: all other changes are other people's. A
    tree is `late` if a call already ran while it was made: the author of changes since the previous tree is not known.
    `left_out` are the paths that are not in the tree. With `off`, files are not saved, for this reason.
    """

    source: Source = "environment"
    at: int
    when: Literal["before", "after"] = "before"
    tree: str = ""
    left_out: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()
    writes: tuple[str, ...] | None = None
    late: bool = False
    off: str = ""


class ChangedDuring(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Files that changed while calls ran that do not declare what they write: `count` in all, and the first by path."""

    calls: tuple[int, ...]
    paths: tuple[str, ...]
    count: int


class FilesRestored(Event, frozen=True, kw_only=True):
    """The files of the workspace were restored to their state after event `to`.

    The files before the restore are in the tree `before`, those after it in `tree`. `restored` are the restored paths,
    `files` in all. `left` are the paths that were left unchanged, `left_count` in all. Those of them in `unknown`,
    `unknown_count` in all, were left because their earlier content or the author of a change is not known; the others
    because somebody else than the agent changed them last. `during` has the files that went back whoever had changed
    them: the agent's calls, or somebody else while these calls ran. Each list has only the first paths. With `error`,
    not all files could be restored.
    """

    source: Source = "environment"
    to: int
    tree: str = ""
    before: str = ""
    files: int = 0
    restored: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    left_count: int = 0
    unknown: tuple[str, ...] = ()
    unknown_count: int = 0
    during: tuple[ChangedDuring, ...] = ()
    error: str = ""


class ConversationErrorEvent(Event, frozen=True, kw_only=True):
    """The run ended in an error; `code` is stable, `detail` says what to do."""

    code: str
    detail: str
    retryable: bool = False


RunEvent: TypeAlias = (
    ModelCallStarted
    | BudgetReserved
    | ModelCallRetried
    | ModelCalled
    | RiskAssessed
    | ActionRevised
    | HookExecutionEvent
    | CriticAssessed
    | ExecutionStarted
    | ExecutionLost
    | CondensationRequest
    | Condensation
    | StuckDetected
    | RunEnded
    | DurabilityChanged
    | WorkspaceSnapshot
    | FilesRestored
    | ConversationErrorEvent
)
