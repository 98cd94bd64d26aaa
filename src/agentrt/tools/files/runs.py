"""Where a text, or a run of lines, stands in another: in a time that grows with both, not with their product. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate


def places(text: str, part: str) -> Iterator[int]:
    """Where `part` begins in `text`, in order; two may overlap. Each step takes a time that grows with the text."""
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


class Runs:
    """Lines, none of which has a newline, as one text in which runs of lines are found."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = "\n" + "".join(f"{line}\n" for line in lines)
        self._begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
        """Where the newline before each line is."""

    def of(self, wanted: Sequence[str], begin: int = 0) -> Iterator[int]:
        """The indices, from `begin` on and in order, where these lines follow on one another; two may overlap."""
        part = "\n" + "".join(f"{line}\n" for line in wanted)
        place = self._text.find(part, self._begins[begin])
        while place >= 0:
            yield bisect_left(self._begins, place)
            place = self._text.find(part, place + 1)
