"""Recalling: the events of a conversation that an agent no longer sees, and a search for words in them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from ..events import Condensation, Event
from .texts import text_of

AROUND = 80
"""Number of characters shown before and after a match."""


class Found(msgspec.Struct, frozen=True):
    """An event in which the words were found."""

    seq: int
    kind: str
    snippet: str


def no_longer_seen(events: Sequence[Event]) -> Iterator[Event]:
    """Return the events that condensations removed from the view, or whose output they removed. Events that were never
    in the view are left out.
    """
    gone = {
        name
        for event in events
        if isinstance(event, Condensation)
        for name in (*event.forgotten_event_ids, *event.masked_event_ids)
    }
    return (event for event in events if event.id in gone)


def found(events: Iterable[Event], words: str, limit: int, hide: Callable[[str], str] = str) -> tuple[list[Found], int]:
    """Return the newest events that contain `words` as a phrase or, if none does, each of the words; at most `limit`.
    Also return the number of all such events.

    `hide` removes secrets from a text before it is cut.
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
