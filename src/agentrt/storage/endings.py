"""The end of a log: how the conversation was last begun or stopped, without reading the whole log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from ..codec import decode
from ..events import DIED_REASON, Event, HeadMoved, InterruptEvent, MessageEvent, PauseEvent, RunRequested
from ..storing import LastWord
from .reading import EVENTS

TAIL = 256 * 1024
"""Bytes of the first read at the end of a log. Each further read is twice as long."""

_NAMED = tuple(kind.__name__.encode() for kind in (PauseEvent, InterruptEvent, RunRequested, HeadMoved, MessageEvent))


def last_word(directory: Path) -> LastWord | None:
    """Return the last event of a log that began, stopped or changed a run from outside; for a thread."""
    try:
        with open(directory / EVENTS, "rb") as file:
            return last_of(_backwards(file))
    except OSError:
        return None


def last_of(lines: Iterable[bytes]) -> LastWord | None:
    """Return the first of some records, newest first, that began, stopped or changed a run from outside.

    The recovery after a crash also pauses a conversation that was paused already, if work was still in flight. Such a
    pause stopped nothing, so the earlier one is returned: it says whether a person wanted the conversation to stop.
    """
    recovered: PauseEvent | None = None
    for line in lines:
        match _event(line):
            case PauseEvent(source="environment", reason=reason) as event if reason == DIED_REASON:
                recovered = recovered or event
            case PauseEvent() | InterruptEvent(goes_on=False) as event:
                return event
            case RunRequested() | HeadMoved() as event:
                return recovered or event
            case MessageEvent(source="user") | InterruptEvent() as event if recovered is None:
                return event
            case _:
                pass
    return recovered


def _event(line: bytes) -> Event | None:
    """Return the event of a record; None if it is of another kind, cut, or of another schema."""
    if not any(name in line for name in _NAMED):
        return None  # decoding it would take a hundred times as long
    try:
        return decode(line)
    except (ValueError, UnicodeDecodeError):
        return None


def _backwards(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, the last one first."""
    begin, size, rest = file.seek(0, os.SEEK_END), TAIL, b""
    while begin:
        end, begin = begin, max(begin - size, 0)
        file.seek(begin)
        first, *lines = (file.read(end - begin) + rest).split(b"\n")
        yield from reversed(lines)
        rest, size = first, 2 * size
    yield rest
