"""Recalling: which events of a conversation an agent no longer sees, and where words stand in them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from ..events import Condensation, Event
from .texts import text_of

AROUND = 80
"""Characters that are shown before and behind what was found."""


class Found(msgspec.Struct, frozen=True):
    """An event in which words were found."""

    seq: int
    kind: str
    snippet: str


def no_longer_seen(events: Sequence[Event]) -> Iterator[Event]:
    """Those that condensations took out of the view, or whose output they did: what was never in it is not there."""
    gone = {
        name
        for event in events
        if isinstance(event, Condensation)
        for name in (*event.forgotten_event_ids, *event.masked_event_ids)
    }
    return (event for event in events if event.id in gone)


def found(events: Iterable[Event], words: str, limit: int, hide: Callable[[str], str] = str) -> tuple[list[Found], int]:
    """The newest events that have these words, as they are written or else each of them, and how many there are.

    `hide` takes what is secret out of a text, before it is cut.
    """
    texts = [(e.seq, entry[0], hide(entry[1])) for e in events if (entry := text_of(e)) is not None]
    exact = [one for one in texts if words.casefold() in one[2].casefold()]
    parts = words.casefold().split()
    hits = exact or [one for one in texts if parts and all(part in one[2].casefold() for part in parts)]
    sought = words if exact else (parts or [words])[0]
    return [Found(seq, kind, _snippet(text, sought)) for seq, kind, text in hits[-limit:][::-1]], len(hits)


def _snippet(text: str, words: str) -> str:
    at = max(text.casefold().find(words.casefold()), 0)
    start, end = max(at - AROUND, 0), at + len(words) + AROUND
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
