"""Handovers: the points at which another process, or a fork, continues a log. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..decisions import forked, recovery
from ..events import (
    AgentErrorEvent,
    ConversationCreated,
    DurabilityChanged,
    Event,
    ExecutionLost,
    ModelCalled,
    PauseEvent,
    ResourceLost,
    RunEnded,
)
from ..state import State

_FIRST = (DurabilityChanged, ModelCalled, ExecutionLost, AgentErrorEvent, ResourceLost, PauseEvent, RunEnded)


def handed_over(state: State, following: Sequence[Event]) -> int:
    """Return how many of the following events another process logged together to close what `state` had open.

    This is 0 if the first is not such an event. A process that ended with nothing open leaves no trace.
    """
    first = following[0]
    if isinstance(first, ConversationCreated):
        return len(forked(state, first)) if state.seq else 0
    if not isinstance(first, _FIRST):
        return 0
    closing = recovery(state)
    same = len(closing) <= len(following) and all(map(_alike, closing, following))
    return len(closing) if same else 0


def _alike(one: Event, other: Event) -> bool:
    return type(one) is type(other) and _telling(one) == _telling(other)


def _telling(event: Event) -> object:
    """Return the value that distinguishes a closing event from others of its type."""
    match event:
        case ModelCalled() | AgentErrorEvent():
            return event.error
        case DurabilityChanged():
            return event.epoch
        case _:
            return event.source
