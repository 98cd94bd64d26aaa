"""The events of a conversation: what happened, immutable, in the order of the log.

An event is made by its producer with an id and a time; the log gives it its `seq` (from 1, without gaps) and only then
does anyone else see it. On disk each is one flat JSON object whose `type` is the class name.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec

from .ids import new_id
from .specs import Agent, Content, Durability, LocalWorkspace, SecurityRisk, Thinking, ToolDefinition
from .specs.flow import Label, Sink
from .usage import Spending, Usage

SCHEMA_VERSION = 2

Source: TypeAlias = Literal["user", "agent", "environment", "hook"]


def now() -> datetime:
    """The time of this machine, in UTC."""
    return datetime.now(UTC)


class Cursor(msgspec.Struct, frozen=True, order=True):
    """A place in a log: after event `seq`. The epoch changes when events that someone may have seen are gone."""

    epoch: int = 0
    seq: int = 0


class ExecutionStatus(StrEnum):
    """What a conversation is doing."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING_FOR_CONFIRMATION = "waiting_for_confirmation"
    FINISHED = "finished"
    ERROR = "error"
    STUCK = "stuck"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="type", tag=True):
    """The envelope that all events share.

    `by` is the principal that caused it (a user's name, a hook), `caused_by` the id of the event that it answers.
    """

    seq: int = 0
    id: str = msgspec.field(default_factory=new_id)
    timestamp: datetime = msgspec.field(default_factory=now)
    source: Source = "environment"
    by: str | None = None
    caused_by: str | None = None


class ConversationCreated(Event, frozen=True, kw_only=True):
    """The first event: all that resuming needs. That of a fork follows on what it shares with its parent."""

    conversation_id: str
    agent: Agent
    workspace: LocalWorkspace
    schema_version: int = SCHEMA_VERSION
    owner: str | None = None
    parent: str | None = None


class SystemPromptEvent(Event, frozen=True, kw_only=True):
    """The instructions, and the tools as the model sees them."""

    source: Source = "agent"
    system_prompt: str
    tools: tuple[ToolDefinition, ...]


class MessageEvent(Event, frozen=True, kw_only=True):
    """What a user, the agent or the environment says; `partial` text was cut by an interrupt."""

    content: tuple[Content, ...]
    partial: bool = False
    reasoning: str = ""
    thinking: Thinking | None = None
    llm_response_id: str | None = None


class ActionEvent(Event, frozen=True, kw_only=True):
    """A tool call that the model asked for.

    Only the first of a batch (the calls of one `llm_response_id`) carries `thought` and `thinking`. `arguments` is a
    JSON object, `malformed` the model's text where that was another one or none, `asked_as` the name that it gave where
    the tool has another. `resources` are keys: calls that share one run in the order asked; "*" is shared with all.
    `security_risk` is the model's own rating, `summary` its own words for what the call does. `polling` says that it
    only waits for what runs already.
    """

    source: Source = "agent"
    tool_name: str
    tool_call_id: str
    arguments: msgspec.Raw
    llm_response_id: str
    thought: str = ""
    reasoning: str = ""
    thinking: Thinking | None = None
    malformed: str | None = None
    asked_as: str | None = None
    resources: tuple[str, ...] = ()
    security_risk: SecurityRisk = SecurityRisk.UNKNOWN
    summary: str = ""
    polling: bool = False


class ObservationEvent(Event, frozen=True, kw_only=True):
    """A tool's result. `details` is the tool's own JSON (exit code, diff), not seen by the model.

    `labels` say that it holds content that nobody vouches for, and from where.
    """

    action_id: str
    tool_name: str
    tool_call_id: str
    content: tuple[Content, ...]
    is_error: bool = False
    details: msgspec.Raw = msgspec.Raw(b"null")
    labels: tuple[Label, ...] = ()


class UserRejectObservation(Event, frozen=True, kw_only=True):
    """A person (or a hook) refused an action; the model sees the reason."""

    source: Source = "user"
    action_id: str
    tool_name: str
    tool_call_id: str
    rejection_reason: str = "Rejected by the user."


class AgentErrorEvent(Event, frozen=True, kw_only=True):
    """An action that gave no observation: what the model is told instead."""

    source: Source = "agent"
    action_id: str
    tool_name: str
    tool_call_id: str
    error: str


class CondensationSummaryEvent(Event, frozen=True, kw_only=True):
    """Stands in the view for what a condensation forgot; made from it, never stored."""

    summary: str


class RunRequested(Event, frozen=True, kw_only=True):
    """Someone wants the agent to go on."""

    source: Source = "user"


class ModelCallStarted(Event, frozen=True, kw_only=True):
    """A model call is about to be sent: durable before the first byte leaves."""

    source: Source = "agent"
    command: str


class BudgetReserved(Event, frozen=True, kw_only=True):
    """What a model call may use at most, where there is a budget: durable before the first byte leaves."""

    source: Source = "agent"
    command: str
    tokens: int
    cost: float = 0.0
    usage_id: str = "default"


class ModelCallRetried(Event, frozen=True, kw_only=True):
    """A try of a model call failed with `code`, and after `wait` seconds another one follows, of `next_model`.

    What was shown of it is void: the deltas that name `draft`. `usage` and `cost` are estimated, and nothing for a try
    that was refused at once.
    """

    source: Source = "agent"
    command: str
    attempt: int
    model: str
    next_model: str
    code: str
    detail: str
    wait: float = 0.0
    draft: str | None = None
    usage: Usage = Usage()
    cost: float | None = None
    usage_id: str = "default"


class ModelCalled(Event, frozen=True, kw_only=True):
    """A model call has ended; `cost` in USD (None: no price known), times in seconds, `error` is a code."""

    source: Source = "agent"
    command: str
    model: str
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0
    time_to_first_token: float | None = None
    usage_id: str = "default"
    llm_response_id: str | None = None
    error: str | None = None
    estimated: bool = False


class RiskAssessed(Event, frozen=True, kw_only=True):
    """The rating of an action: where its effect goes (`sinks`), and what its result will hold (`labels`)."""

    action_id: str
    risk: SecurityRisk
    reason: str = ""
    sinks: tuple[Sink, ...] = ()
    labels: tuple[Label, ...] = ()


class ConfirmationRequested(Event, frozen=True, kw_only=True):
    """The run waits for a person's word on these actions."""

    action_ids: tuple[str, ...]


class ConfirmationGiven(Event, frozen=True, kw_only=True):
    """A person approved these actions."""

    source: Source = "user"
    action_ids: tuple[str, ...]


class ActionRevised(Event, frozen=True, kw_only=True):
    """A hook rewrote an action's arguments."""

    source: Source = "hook"
    action_id: str
    arguments: msgspec.Raw


class ExecutionStarted(Event, frozen=True, kw_only=True):
    """A tool is about to run: durable before it does."""

    action_id: str
    command: str
    attempt: int = 1


class ExecutionLost(Event, frozen=True, kw_only=True):
    """A crash cut an execution that is safe to repeat: the action is due again."""

    action_id: str


class CondensationRequest(Event, frozen=True, kw_only=True):
    """The view must shrink before the next model call."""

    reason: str = ""


class Condensation(Event, frozen=True, kw_only=True):
    """The view forgets these events; a summary takes the place of the first."""

    forgotten_event_ids: tuple[str, ...]
    summary: str = ""


class PauseEvent(Event, frozen=True, kw_only=True):
    """Nothing new is begun from here on; what runs may end."""

    source: Source = "user"
    reason: str = ""


class InterruptEvent(Event, frozen=True, kw_only=True):
    """What runs is cut, and nothing new is begun."""

    source: Source = "user"
    reason: str = ""


class HeadMoved(Event, frozen=True, kw_only=True):
    """A rewind: the branch goes back to how it was after event `to`; nothing is erased."""

    source: Source = "user"
    to: int


class TimerFired(Event, frozen=True, kw_only=True):
    """A time that a command waited for has come."""

    command: str


class StuckDetected(Event, frozen=True, kw_only=True):
    """The agent repeats itself; `pattern` names how."""

    pattern: str
    detail: str = ""


class BudgetGranted(Event, frozen=True, kw_only=True):
    """Money (USD) that this conversation may spend, on top of what it was granted before."""

    amount: float


class ChildStarted(Event, frozen=True, kw_only=True):
    """A conversation was delegated to."""

    child_id: str
    task: str


class ChildFinished(Event, frozen=True, kw_only=True):
    """A delegated conversation has ended; `spending` is by usage id, and `cost` its sum."""

    child_id: str
    status: ExecutionStatus
    cost: float = 0.0
    spending: dict[str, Spending] = {}


class ResourceLost(Event, frozen=True, kw_only=True):
    """A sleep or a crash took something away; the model is told."""

    tool_name: str
    detail: str


class ConversationStateUpdateEvent(Event, frozen=True, kw_only=True):
    """Part of the configuration changed: `key` is a field of `Agent`, `value` its new JSON."""

    key: str
    value: msgspec.Raw


class DurabilityChanged(Event, frozen=True, kw_only=True):
    """How events are committed from here on. A new epoch: some of the one before may be gone that someone saw."""

    durability: Durability
    epoch: int


class ConversationErrorEvent(Event, frozen=True, kw_only=True):
    """The run ended in an error; `code` is stable, `detail` says what to do."""

    code: str
    detail: str
    retryable: bool = False


class UnknownEvent(Event, frozen=True, kw_only=True):
    """An event of a type that this version does not know: `raw` is its JSON, kept and passed on as it is."""

    kind: str
    raw: msgspec.Raw


KnownEvent: TypeAlias = (
    ConversationCreated
    | SystemPromptEvent
    | MessageEvent
    | ActionEvent
    | ObservationEvent
    | UserRejectObservation
    | AgentErrorEvent
    | RunRequested
    | ModelCallStarted
    | BudgetReserved
    | ModelCallRetried
    | ModelCalled
    | RiskAssessed
    | ConfirmationRequested
    | ConfirmationGiven
    | ActionRevised
    | ExecutionStarted
    | ExecutionLost
    | CondensationRequest
    | Condensation
    | PauseEvent
    | InterruptEvent
    | HeadMoved
    | TimerFired
    | StuckDetected
    | BudgetGranted
    | ChildStarted
    | ChildFinished
    | ResourceLost
    | ConversationStateUpdateEvent
    | DurabilityChanged
    | ConversationErrorEvent
)

ActionResult: TypeAlias = ObservationEvent | UserRejectObservation | AgentErrorEvent
