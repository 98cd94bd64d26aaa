"""Finding texts by meaning: the pieces of events that are embedded, and the vectors that are nearest to one. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from math import sqrt
from operator import mul

import msgspec

from ..events import Event
from .texts import text_of

LONGEST = 2000
"""Maximum characters of a piece: about 500 tokens, which every embedding model takes."""


class Piece(msgspec.Struct, frozen=True):
    """A part of an event's text; `conversation` is "" for the own one."""

    seq: int
    kind: str
    text: str
    conversation: str = ""

    @property
    def key(self) -> bytes:
        """The name of its vector: the beginning of the SHA-256 of its text."""
        return sha256(self.text.encode("utf-8", "replace")).digest()[:16]


def pieces_of(
    events: Iterable[Event], most: int, hide: Callable[[str], str] = str, conversation: str = ""
) -> list[Piece]:
    """Return the pieces of events, in the given order and at most so many. `hide` removes secrets from a text before it
    is cut.
    """
    made: list[Piece] = []
    for event in events:
        if (entry := text_of(event)) is None:
            continue
        kind, text = entry
        made += (Piece(event.seq, kind, part, conversation) for part in _parts(hide(text)))
        if len(made) >= most:
            break
    return made[:most]


def _parts(text: str) -> Iterator[str]:
    """Yield a text in parts that end between words, if they can."""
    text = text.strip()
    while text:
        end = len(text) if len(text) <= LONGEST else max(text.rfind(" ", LONGEST // 2, LONGEST), 0) or LONGEST
        yield text[:end]
        text = text[end:].lstrip()


def packed(vector: Sequence[float]) -> bytes:
    """Return a vector with a byte for each number, in which only its direction is kept."""
    most = max(map(abs, vector), default=0.0) or 1.0
    return array("b", [round(127 * number / most) for number in vector]).tobytes()


def nearest(wanted: bytes, vectors: Sequence[bytes], limit: int) -> list[int]:
    """Return the places of the vectors with the smallest angle to one, the nearest first; those of other lengths are
    left out.
    """
    sought = array("b", wanted)
    found = []
    for place, data in enumerate(vectors):
        one = array("b", data)
        if len(one) == len(sought) and (length := sum(map(mul, one, one))):
            found.append((-sum(map(mul, sought, one)) / sqrt(length), place))
    return [place for _, place in sorted(found)[:limit]]
