"""The origin of each event: outside, a performer, or the rules. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias, get_args

from msgspec.structs import fields

from ..actors.critic import GOAL
from ..events import (
    ActionEvent,
    ActionRevised,
    AgentErrorEvent,
    BudgetGranted,
    BudgetReserved,
    ChildFinished,
    ChildMessaged,
    ChildStarted,
    ChildWaiting,
    CommandEnded,
    Condensation,
    CondensationRequest,
    ConfirmationRequested,
    ContextChanged,
    ContextResolved,
    ConversationCreated,
    ConversationErrorEvent,
    ConversationStateUpdateEvent,
    CriticAssessed,
    DurabilityChanged,
    Event,
    ExecutionLost,
    ExecutionStarted,
    FilesRestored,
    HookExecutionEvent,
    InputRequested,
    InterruptEvent,
    KnownEvent,
    MessageEvent,
    ModelCalled,
    ModelCallRetried,
    ModelCallStarted,
    ObservationEvent,
    ResourceLost,
    RiskAssessed,
    RunEnded,
    SkillActivated,
    StuckDetected,
    SystemPromptEvent,
    TitleChanged,
    ToolResultRequested,
    ToolResultsAwaited,
    ToolsChanged,
    UnknownEvent,
    UserRejectObservation,
    WorkspaceSnapshot,
)
from ..specs import HookEvent


class Origin(StrEnum):
    """The source of an event, and so what provides it in a replay."""

    OUTSIDE = "outside"
    """From a person, a program or the process around the conversation: the replay inserts it at its place."""
    PERFORMER = "performer"
    """The outcome of a command: a recorded performer returns it in its turn."""
    RULES = "rules"
    """A consequence of other events: the replay inserts nothing, the replayed rules must produce it."""


OUTSIDE, PERFORMER, RULES = Origin.OUTSIDE, Origin.PERFORMER, Origin.RULES


class Cause:
    """What an event's origin can depend on: the event that caused it, and whether the runtime made its model call."""

    __slots__ = ("event", "own_call")

    def __init__(self, event: Event | None, *, own_call: bool) -> None:
        self.event, self.own_call = event, own_call


Rule: TypeAlias = Callable[[Event, Cause], Origin]


def _message(event: Event, cause: Cause) -> Origin:
    match cause.event:
        case _ if event.source == "agent":
            return PERFORMER
        case ModelCalled() | HookExecutionEvent() | CriticAssessed() | ChildFinished():
            return PERFORMER  # a complaint about a reply, what a hook says, what is missing, or a report
        case StuckDetected():
            return RULES
        case _:
            return OUTSIDE


def _context(event: Event, cause: Cause) -> Origin:
    """Return the origin of a context, which is read when a conversation begins or after a plugin was loaded."""
    return RULES if isinstance(cause.event, ConversationCreated | SystemPromptEvent) else OUTSIDE


def _refusal(event: Event, cause: Cause) -> Origin:
    if isinstance(cause.event, HookExecutionEvent):
        return PERFORMER
    return RULES if event.source == "environment" and event.by == "rule" else OUTSIDE


def _result(event: Event, cause: Cause) -> Origin:
    """Return the origin of a result: from outside if a client gave it, or if it timed out."""
    return OUTSIDE if event.source == "user" or event.by == "deadline" else PERFORMER


def _call(event: Event, cause: Cause) -> Origin:
    """Return the origin of an action: from outside if running code made the call."""
    return OUTSIDE if isinstance(event, ActionEvent) and event.within is not None else PERFORMER


def _revision(event: Event, cause: Cause) -> Origin:
    return PERFORMER if isinstance(cause.event, HookExecutionEvent) else OUTSIDE


def _hooks(event: Event, cause: Cause) -> Origin:
    """Return the origin of hooks: those at the end run as a process leaves, which the replay does not decide."""
    return OUTSIDE if isinstance(event, HookExecutionEvent) and event.hook_event is HookEvent.END else PERFORMER


def _model_call(event: Event, cause: Cause) -> Origin:
    """Return the origin of a model call: side questions and title generation are requested from outside."""
    return PERFORMER if cause.own_call else OUTSIDE


def _condensation(event: Event, cause: Cause) -> Origin:
    """Return the origin of a condensation: from outside if a person requested it, not if the view was too long."""
    return OUTSIDE if event.source == "user" else PERFORMER


def _error(event: Event, cause: Cause) -> Origin:
    """Return the origin of an error: a limit has no cause, and the cause of the time limit is an interrupt."""
    limit = isinstance(event, ConversationErrorEvent) and event.code in ("max_steps", "max_cost", "max_tokens")
    return RULES if isinstance(cause.event, InterruptEvent) or (limit and cause.event is None) else PERFORMER


def _of_users() -> Mapping[type[Event], Origin | Rule]:
    """Return the types of events that are from a user by default."""
    sources = {kind: field for kind in get_args(KnownEvent) for field in fields(kind) if field.name == "source"}
    return {kind: OUTSIDE for kind, field in sources.items() if field.default == "user"}


ORIGINS: Mapping[type[Event], Origin | Rule] = {
    **_of_users(),
    # how a conversation begins
    ConversationCreated: RULES,
    SystemPromptEvent: RULES,
    ContextResolved: _context,
    # what people and programs say and decide, besides the user's events
    MessageEvent: _message,
    UserRejectObservation: _refusal,
    BudgetGranted: OUTSIDE,
    TitleChanged: OUTSIDE,
    ConversationStateUpdateEvent: OUTSIDE,
    UnknownEvent: OUTSIDE,
    # what the process around it does
    DurabilityChanged: OUTSIDE,
    ResourceLost: OUTSIDE,
    ContextChanged: OUTSIDE,
    ToolsChanged: OUTSIDE,
    WorkspaceSnapshot: OUTSIDE,
    FilesRestored: OUTSIDE,
    CommandEnded: OUTSIDE,
    # what the rules note
    ModelCallStarted: RULES,
    ExecutionStarted: RULES,
    ExecutionLost: RULES,
    ChildStarted: RULES,
    ChildMessaged: RULES,
    ConfirmationRequested: RULES,
    InputRequested: OUTSIDE,
    ToolResultRequested: RULES,
    ToolResultsAwaited: RULES,
    StuckDetected: RULES,
    RunEnded: RULES,
    # the model
    BudgetReserved: _model_call,
    ModelCallRetried: _model_call,
    ModelCalled: _model_call,
    ActionEvent: _call,
    CondensationRequest: _condensation,
    ConversationErrorEvent: _error,
    # the others
    RiskAssessed: PERFORMER,
    HookExecutionEvent: _hooks,
    ActionRevised: _revision,
    ObservationEvent: _result,
    SkillActivated: PERFORMER,
    AgentErrorEvent: _result,
    Condensation: PERFORMER,
    CriticAssessed: PERFORMER,
    ChildWaiting: PERFORMER,
    ChildFinished: PERFORMER,
}
"""The origin by event type, or the rule for a type with several. Events that close a crash are handled before."""


class Origins:
    """The origins of the events of one log."""

    def __init__(self, events: Iterable[Event]) -> None:
        events = tuple(events)
        self._by_id = {event.id: event for event in events}
        self._commands = {event.command for event in events if isinstance(event, ModelCallStarted)}

    def of(self, event: Event) -> Origin:
        """Return the origin of an event."""
        found = ORIGINS[type(event)]
        if isinstance(found, Origin):
            return found
        return found(event, Cause(self._by_id.get(event.caused_by or ""), own_call=self.is_own(event)))

    def is_own(self, event: Event) -> bool:
        """Return whether an event belongs to a model call of the rules: the agent's, or a judge's."""
        command = getattr(event, "command", "")
        return command in self._commands or is_judging(command)


def is_judging(command: str) -> bool:
    """Return whether a model call is a judge's."""
    return command.startswith(f"{GOAL}-")
