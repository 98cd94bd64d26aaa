"""The status of a conversation, as a table: which event changes it, from what to what. It depends on the log alone.

So a mirror of the log in any language can follow the status; docs/state-machine.md and the console have the same rows.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from ..events import (
    AgentErrorEvent,
    ChildAnswered,
    ChildFinished,
    ChildWaiting,
    ConfirmationGiven,
    ConfirmationRequested,
    ConversationCreated,
    ConversationErrorEvent,
    ConversationStateUpdateEvent,
    Event,
    ExecutionStatus,
    HeadMoved,
    InputGiven,
    InterruptEvent,
    MessageEvent,
    ObservationEvent,
    PauseEvent,
    RuleAdded,
    RuleRemoved,
    RunEnded,
    RunRequested,
    StuckDetected,
    ToolResultsAwaited,
    UserRejectObservation,
)

_S = ExecutionStatus
RUNNING, WAITING, AWAITING = _S.RUNNING, _S.WAITING_FOR_CONFIRMATION, _S.WAITING_FOR_CLIENT


class Change(msgspec.Struct, frozen=True):
    """A row: an event of this type changes one of these statuses (empty: any) to another one."""

    event: type[Event]
    to: ExecutionStatus | None
    """None: the event's own `status`."""
    of: tuple[ExecutionStatus, ...] = ()
    having: tuple[str, str | bool] | None = None
    """Restricts the row to events whose member has this value; `False` also matches one that is missing or null."""


_ASKED_ANEW = (
    ObservationEvent,
    AgentErrorEvent,
    UserRejectObservation,
    ConfirmationGiven,
    InputGiven,
    RuleAdded,
    RuleRemoved,
    ConversationStateUpdateEvent,
    ChildAnswered,
)
"""After these events waiting is decided anew; `ConfirmationRequested` or `ToolResultsAwaited` may follow."""


def _change(
    event: type[Event],
    to: ExecutionStatus | None,
    *of: ExecutionStatus,
    having: tuple[str, str | bool] | None = None,
) -> Change:
    return Change(event, to, of, having)


CHANGES: Collection[Change] = (
    _change(ConversationCreated, _S.IDLE),
    _change(HeadMoved, _S.IDLE),
    _change(MessageEvent, _S.IDLE, _S.FINISHED, _S.ERROR, _S.STUCK, having=("source", "user")),
    _change(RunRequested, RUNNING, _S.IDLE, _S.PAUSED, _S.FINISHED, _S.ERROR, _S.STUCK),
    _change(RunEnded, None),
    _change(ConversationErrorEvent, _S.ERROR),
    _change(StuckDetected, _S.STUCK, having=("nudge", False)),
    _change(PauseEvent, _S.PAUSED, RUNNING, WAITING, AWAITING),
    _change(InterruptEvent, _S.PAUSED, RUNNING, WAITING, AWAITING, having=("goes_on", False)),
    _change(InterruptEvent, RUNNING, WAITING, AWAITING, having=("goes_on", True)),
    _change(ConfirmationRequested, WAITING),
    _change(ToolResultsAwaited, AWAITING),
    *(_change(event, RUNNING, WAITING, AWAITING) for event in _ASKED_ANEW),
    _change(ChildWaiting, RUNNING, WAITING, AWAITING, having=("spending", False)),
    _change(ChildFinished, RUNNING, WAITING, AWAITING),
)

BY_TYPE = {each.event: tuple(one for one in CHANGES if one.event is each.event) for each in CHANGES}


def status_after(status: ExecutionStatus, event: Event) -> ExecutionStatus:
    """Return the status after one more event."""
    for change in BY_TYPE.get(type(event), ()):
        if (not change.of or status in change.of) and (change.having is None or _has(event, *change.having)):
            return event.status if change.to is None else change.to  # type: ignore[attr-defined]
    return status


def _has(event: Event, name: str, value: str | bool) -> bool:
    found = getattr(event, name)
    return (False if found is None else found) == value
