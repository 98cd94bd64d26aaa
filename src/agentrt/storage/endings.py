"""The end of a log: how the conversation was last stopped, without reading the whole log."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..codec import decode
from ..events import HeadMoved, InterruptEvent, MessageEvent, PauseEvent, RunRequested
from ..storing import LastWord
from .reading import EVENTS

TAIL = 256 * 1024
"""Bytes at the end of a log that are searched."""


def last_word(directory: Path) -> LastWord | None:
    """Return the last event near the end of a log that began, stopped or changed a run from outside; for a thread."""
    try:
        with open(directory / EVENTS, "rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - TAIL, 0))
            lines = file.read().splitlines()
    except OSError:
        return None
    return last_of(reversed(lines))


def last_of(lines: Iterable[bytes]) -> LastWord | None:
    """Return the first of some records, newest first, that began, stopped or changed a run from outside."""
    for line in lines:
        try:
            event = decode(line)
        except (ValueError, UnicodeDecodeError):
            continue  # cut, or no event of this schema
        if isinstance(event, PauseEvent | InterruptEvent | RunRequested | HeadMoved):
            return event
        if isinstance(event, MessageEvent) and event.source == "user":
            return event
    return None
