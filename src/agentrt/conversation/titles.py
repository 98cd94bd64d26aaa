"""`needs_title`: whether it is time to give a conversation a title. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..events import Event, RunEnded
from ..state import State

ANSWERED = "answered"


def needs_title(events: Iterable[Event], state: State) -> bool:
    """Return whether one of the `events` ended a run with an answer, and the conversation has no title.

    Those that were delegated are called by their task, and forks as their parent.
    """
    created = state.created
    if created is None or state.ledger.title or created.delegated_by is not None or created.parent is not None:
        return False
    return any(isinstance(event, RunEnded) and event.reason == ANSWERED for event in events)
