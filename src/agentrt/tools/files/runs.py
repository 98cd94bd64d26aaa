"""Finds a text, or a run of lines, in another, in time that grows with both lengths, not with their product. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate


def places(text: str, part: str) -> Iterator[int]:
    """Yield the places of `part` in `text`, in order; they may overlap. The time of each step grows with the text."""
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


class Runs:
    """Lines without newlines, joined to one text in which runs of lines are found."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = "\n" + "".join(f"{line}\n" for line in lines)
        self._begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
        """The index of the newline before each line."""

    def of(self, wanted: Sequence[str], begin: int = 0) -> Iterator[int]:
        """Yield the indices from `begin` on, in order, where a run of the wanted lines begins; runs may overlap."""
        part = "\n" + "".join(f"{line}\n" for line in wanted)
        place = self._text.find(part, self._begins[begin])
        while place >= 0:
            yield bisect_left(self._begins, place)
            place = self._text.find(part, place + 1)
