"""A run: model calls, ratings, executions, hooks, and what ends it."""

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
    """A model call is about to be sent: durable before the first byte leaves."""

    source: Source = "agent"
    command: Id


class BudgetReserved(Event, frozen=True, kw_only=True):
    """What a model call may use at most, where there is a budget: durable before the first byte leaves."""

    source: Source = "agent"
    command: Id
    tokens: int
    cost: float = 0.0
    usage_id: str = "default"


class ModelCallRetried(Event, frozen=True, kw_only=True):
    """A try of a model call failed with `code`, and after `wait` seconds another one follows, of `next_model`.

    What was shown of it is void: the deltas that name `draft`. `usage` and `cost` are estimated, and nothing for a try
    that was refused at once.
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
    """A model call has ended; `cost` in USD (None: no price known), times in seconds, `error` is a code."""

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
    """Of a call that was answered, the tokens that its prompt was estimated at, where there is a budget."""
    window: int = 0
    """Of the agent's own call, the tokens that its model can read; 0: nobody knows."""


class RiskAssessed(Event, frozen=True, kw_only=True):
    """The rating of an action: where its effect goes (`sinks`), and what its result will hold (`labels`)."""

    action_id: Id
    risk: SecurityRisk
    reason: str = ""
    sinks: tuple[Sink, ...] = ()
    labels: tuple[Label, ...] = ()
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """The files that it runs, as they were when they were looked at: by path a digest, or that it was not there."""


class ActionRevised(Event, frozen=True, kw_only=True):
    """A hook rewrote an action's arguments, and with them the resources that it touches; or, by the environment, a file
    that it runs has changed since it was rated. It is rated again, and not run before.
    """

    source: Source = "hook"
    action_id: Id
    arguments: msgspec.Raw
    resources: tuple[str, ...] | None = None


class HookRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one hook: its command or the name of its function, and what came of it; times in seconds."""

    hook: str
    verdict: Verdict = "allow"
    reason: str = ""
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    seconds: float = 0.0


class HookExecutionEvent(Event, frozen=True, kw_only=True):
    """The hooks of an event have run, and this is what they came to, for the action or message `target`."""

    source: Source = "hook"
    hook_event: HookEvent
    target: Id = ""
    verdict: Verdict = "allow"
    reason: str = ""
    runs: tuple[HookRun, ...] = ()


class CriticAssessed(Event, frozen=True, kw_only=True):
    """What the agent finished was judged: `score` from 0 to 1, and what is missing.

    `midway` it was judged before it had finished, and nothing follows from that; `error` says how that failed.
    """

    critic: str
    score: float
    success: bool
    message: str = ""
    midway: bool = False
    error: str = ""
    refine: bool = False
    """Whether the critic wanted more, however high the score."""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    """What else it found."""


class ExecutionStarted(Event, frozen=True, kw_only=True):
    """A tool is about to run: durable before it does."""

    action_id: Id
    command: Id
    attempt: int = 1


class ExecutionLost(Event, frozen=True, kw_only=True):
    """An execution was cut that is safe to repeat, by a crash or since the conversation was left: the action is due
    again.
    """

    action_id: Id
    begun: bool = True
    """Whether it may have done anything."""


class CondensationRequest(Event, frozen=True, kw_only=True):
    """The view must shrink before the next model call: a person asked for that, or the model said it is too long."""

    reason: str = ""


class Condensation(Event, frozen=True, kw_only=True):
    """The view forgets these events; a summary takes the place of the first.

    Results that are masked stay, without their output. Where nothing is forgotten or masked, nothing could be.
    """

    forgotten_event_ids: tuple[Id, ...] = ()
    summary: str = ""
    masked_event_ids: tuple[Id, ...] = ()
    reason: CondensationReason | None = None
    facts: Summary | None = None
    """What the summary says, part by part, for the one that takes its place later."""
    labels: tuple[Label, ...] = ()
    """What it was made of that nobody vouches for."""
    problem: str = ""
    """Why no model summed up, or nothing could be forgotten."""
    tokens_before: int = 0
    """About how many the view had."""
    tokens_after: int = 0


class StuckDetected(Event, frozen=True, kw_only=True):
    """The agent repeats itself; `pattern` names how. After a `nudge` it goes on, else it is stopped."""

    pattern: str
    detail: str = ""
    nudge: bool = False


class RunEnded(Event, frozen=True, kw_only=True):
    """The run is over, and the conversation has this status: the agent has had its last word ("answered"), or there was
    nothing for it to do ("nothing_to_do"). Errors, limits, pauses and repetition end a run by events of their own.
    """

    status: ExecutionStatus
    reason: str


class DurabilityChanged(Event, frozen=True, kw_only=True):
    """How events are committed from here on. A new epoch: some of the one before may be gone that someone saw."""

    durability: Durability
    epoch: int


class WorkspaceSnapshot(Event, frozen=True, kw_only=True):
    """The files of the workspace as they were after event `at`, as a tree of git in a store of the conversation.

    "before" what an agent does, they may have been changed by others since the one before; "after" it, by the agent,
    whose `calls` ran meanwhile (their events). With `writes`, those have said that they change nothing else: what else
    has changed was changed by others. A tree is `late` when a call ran already while it was made, so it is not known
    who has changed files since the one before. `left_out` is what is not in the tree. With `off`, files are not kept,
    and why.
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
    """Files that have changed while calls ran that do not say what they write: `count` in all, the first by path."""

    calls: tuple[int, ...]
    paths: tuple[str, ...]
    count: int


class FilesRestored(Event, frozen=True, kw_only=True):
    """The files of the workspace were made what they were after event `to`.

    Before they were those of the tree `before`, now they are those of `tree`. `restored` are the paths that were made
    so, `files` in all, and `left` those that were left as they are, `left_count` in all: as somebody else than the
    agent made them last, or `unknown`, `unknown_count` in all, where it is not known what they were or who has changed
    them. `during` has those that went back whoever has changed them: the agent's calls, or somebody else while those
    ran. Of all the first stand here. With `error`, they could not all be made what they were.
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
