"""`Mask`: replaces secrets in everything that leaves the process. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable
from functools import cached_property
from typing import Any

from .beginnings import Beginnings
from .encodings import encoded, shortest, written
from .lines import joined_lines
from .pieces import fragments_of, pieces_of, tail, whole_characters
from .sieve import Sieve

HIDDEN = "<secret-hidden>"
"""The mark that replaces a secret."""

_HIDDEN = HIDDEN.encode()
_HALF = 24
"""Maximum number of bytes of each of the two parts by which an encoded form is found: lines of 60 or more bytes break
at most one of the two."""

_WORD = re.compile(r"[a-z_]{1,16}")

Span = tuple[int, int]


class _Value:
    """The forms of a value, as bytes."""

    __slots__ = ("anchors", "encoded", "pieces", "written")

    def __init__(self, value: str) -> None:
        one_piece, broken = written(value), encoded(value)
        self.written, self.encoded = tuple(map(_bytes, one_piece)), tuple(map(_bytes, broken))
        halves = [half for form in map(_bytes, shortest(broken)) for half in _halves(form)]
        self.anchors = (*map(_bytes, shortest(one_piece)), *halves)
        """Whatever contains a form contains at least one of them."""
        self.pieces = pieces_of(value)


class Mask:
    """Replaces values, in every form of `encodings` and in pieces of eight bytes, by `<secret-hidden>`.

    Each form is replaced as a whole, overlapping forms by one mark, and an encoded form even if it is broken over
    lines. The text between two marks contains no form. A mask is immutable: `adding` returns another one.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = {value: _Value(value) for value in values if value.strip()}

    def adding(self, values: Iterable[str]) -> Mask:
        """Return a mask for these values as well; this mask if it has them all."""
        new = {value: _Value(value) for value in values if value.strip() and value not in self._values}
        if not new:
            return self
        mask = Mask()
        mask._values = self._values | new
        return mask

    @property
    def values(self) -> Collection[str]:
        """The values that it replaces."""
        return self._values.keys()

    def __bool__(self) -> bool:
        return bool(self._values)

    def __contains__(self, value: str) -> bool:
        return value in self._values

    def found_in(self, data: bytes | str) -> bool:
        """Return whether `data` may contain a form. False is certain, true is nearly always right. Fast."""
        return bool(self._values) and any(self._there(_bytes(data)))

    def text(self, text: str, *, by_line: bool = False) -> str:
        """Return a text without the values; the same object if it contains none. See `data`."""
        if not self._values:
            return text
        given = _bytes(text)
        clean = self.data(given, by_line=by_line)
        return text if clean is given else clean.decode("utf-8", "surrogatepass")

    def data(self, data: bytes, *, by_line: bool = False) -> bytes:
        """Return bytes without the values; the same object if they contain none. JSON may become invalid: see `json`.

        With `by_line`, each line of a replaced part becomes a mark, so that the number of lines stays the same.
        """
        runs = merged(self.spans(data)) if self._values else []
        if not runs:
            return data
        pieces, place = list[bytes](), 0
        for start, end in runs:
            lines = data.count(b"\n", start, end) if by_line else 0
            pieces += (data[place:start], _HIDDEN, (b"\n" + _HIDDEN) * lines)
            place = end
        return b"".join((*pieces, data[place:]))

    def json(self, value: Any, spared: Container[str] = ()) -> Any:
        """Return decoded JSON without the values in its strings and names; a number that is a value becomes the mark.

        The members named in `spared` keep a single lower-case word, so that a secret that happens to be a word of the
        format does not break the format.
        """
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.json(item, spared) for item in value]
            case dict():
                return {
                    self.text(name): item
                    if name in spared and isinstance(item, str) and _WORD.fullmatch(item)
                    else self.json(item, spared)
                    for name, item in value.items()
                }
            case int() | float() if not isinstance(value, bool) and repr(value) in self._bare:
                return HIDDEN
            case _:
                return value

    def spans(self, data: bytes) -> list[Span]:
        """Return where forms begin and end, in any order."""
        there, pieces = self._there(data)
        spans = [whole_characters(data, *span) for piece in pieces for span in _places(piece, data)]
        if not there:
            return spans
        spans += (span for value in there for form in value.written for span in _places(form, data))
        joined, places = joined_lines(data)
        for value in there:
            for form in value.encoded:
                spans += [(places.of(start), places.of(end - 1) + 1) for start, end in _places(form, joined)]
        if spans and self._in_mark:
            spans += _places(_HIDDEN, data)
        return spans

    def unfinished(self, data: bytes) -> int:
        """Return where in `data` a form begins that may continue after it; the length of `data` if none does."""
        return min(self._beginnings.place(data), tail(data, self._fragments))

    def _there(self, data: bytes) -> tuple[list[_Value], list[bytes]]:
        """Return the values of which `data` may contain a form, and the pieces that it contains."""
        owners, values, pieces = self._sieve.owners(data), list[_Value](), list[bytes]()
        for owner in owners:
            if isinstance(owner, _Value):
                if any(anchor in data for anchor in owner.anchors):
                    values.append(owner)
            elif owner in data:
                pieces.append(owner)
        return values, pieces

    @cached_property
    def _bare(self) -> frozenset[str]:
        """The values, without the space around them."""
        return frozenset(map(str.strip, self._values))

    @cached_property
    def _sieve(self) -> Sieve[_Value | bytes]:
        anchors = [(anchor, value) for value in self._values.values() for anchor in value.anchors]
        pieces = {piece for value in self._values.values() for piece in value.pieces}
        return Sieve([*anchors, *((piece, piece) for piece in pieces)])

    @cached_property
    def _fragments(self) -> frozenset[bytes]:
        return frozenset().union(*map(fragments_of, self._values))

    @cached_property
    def _beginnings(self) -> Beginnings:
        values = self._values.values()
        one_piece = {form for value in values for form in value.written} | ({_HIDDEN} if self._in_mark else set())
        return Beginnings(one_piece, {form for value in values for form in value.encoded})

    @cached_property
    def _in_mark(self) -> bool:
        """Whether a value is a part of the mark: if so, marks that are already in a text stay whole."""
        return any(form in _HIDDEN for value in self._values.values() for form in value.written)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, overlapping ones joined."""
    runs: list[Span] = []
    for start, end in sorted(spans):
        if runs and start < runs[-1][1]:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    return runs


def _places(form: bytes, data: bytes) -> list[Span]:
    found, place = list[Span](), data.find(form)
    while place >= 0:
        found.append((place, place + len(form)))
        place = data.find(form, place + 1)
    return found


def _halves(form: bytes) -> tuple[bytes, bytes]:
    half = min(_HALF, len(form) // 2)
    return form[:half], form[half : 2 * half]


def _bytes(text: bytes | str) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
