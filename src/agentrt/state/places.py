"""The meaning of a cursor in the current log."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter

from ..errors import CursorExpired
from ..events import Cursor
from .parts import Branch, Checkpoint, State


def check_epoch(place: Cursor, state: State) -> None:
    """Raise `CursorExpired` for a place of another epoch than the log's; the beginning is always valid."""
    if place.seq and place.epoch != state.epoch:
        raise CursorExpired(f"the cursor is of epoch {place.epoch}, the log in epoch {state.epoch}")


def checkpoint(state: State, seq: int) -> Checkpoint:
    """Return the last place to rewind to at or before an event, whichever branch was active then."""
    place = bisect_right(state.checkpoints, seq, key=attrgetter("seq"))
    return state.checkpoints[place - 1] if place else Checkpoint(0, Branch())


def seq_of(place: Cursor | int, state: State) -> int:
    """Return the seq of a cursor; a bare seq counts as epoch 0.

    Raises `CursorExpired` for a cursor of another epoch, or after the end.
    """
    place = place if isinstance(place, Cursor) else Cursor(0, place)
    check_epoch(place, state)
    if place.seq > state.seq:
        raise CursorExpired(f"the cursor is after event {place.seq}, the log ends with {state.seq}")
    return place.seq
