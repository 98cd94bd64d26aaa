"""Search for words in events without an index. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..context.texts import text_of
from ..events import Event
from ..listing import Hit
from .index import SNIPPET, terms

_BEFORE = 4
"""Words of a snippet before the first match."""


def pattern_of(words: str) -> list[re.Pattern[str]]:
    """Return a pattern for each typed word or phrase. Raises `ConfigurationError` without a word."""
    patterns = []
    for said, begins in terms(words):
        phrase = r"\W+".join(map(re.escape, re.findall(r"\w+", said)))
        patterns.append(re.compile(rf"(?<!\w){phrase}" + ("" if begins else r"(?!\w)"), re.IGNORECASE))
    return patterns


def found_in(name: str, events: Iterable[Event], patterns: Sequence[re.Pattern[str]]) -> Iterator[Hit]:
    """Return the events of a conversation in which every pattern occurs."""
    for event in events:
        if (entry := text_of(event)) is not None:
            kind, text = entry
            spans = [[found.span() for found in pattern.finditer(text)] for pattern in patterns]
            if all(spans):
                yield Hit(name, event.seq, kind, *_snippet(text, sorted({span for each in spans for span in each})))


def _snippet(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return some words around the first match, and the positions of the matches in them."""
    words = [found.span() for found in re.finditer(r"\S+", text)]
    first = max(sum(stop <= spans[0][0] for _, stop in words) - _BEFORE, 0)
    begin, end = words[first][0], max(words[min(first + SNIPPET, len(words)) - 1][1], spans[0][1])
    before, after = "…" if first else "", "…" if end < words[-1][1] else ""
    shown = ((start, stop) for start, stop in spans if begin <= start and stop <= end)
    moved = len(before) - begin
    return before + text[begin:end] + after, tuple((start + moved, stop + moved) for start, stop in shown)
