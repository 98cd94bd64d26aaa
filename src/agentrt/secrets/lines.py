"""Joins lines, and maps places in the result to places in the original data. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

_RUN = re.compile(rb"[\r\n\\](?:[\r\n\\]|(?<=\\)[rn])*")
_BREAK = re.compile(rb"\r?\n|(?:\\{1,8}r)?\\{1,8}n")
_BEGUN = re.compile(rb"\r|(?:\\{1,8}r)?\\{0,8}")

LONGEST_BREAK = 18
"""Maximum number of bytes of a break."""


class Places:
    """Maps places in joined lines to places in the original data."""

    def __init__(self, cuts: Sequence[int], removed: Sequence[int]) -> None:
        self._cuts, self._removed = cuts, removed

    def of(self, place: int) -> int:
        """Return the original place of a byte of the joined lines."""
        cut = bisect_right(self._cuts, place)
        return place + (self._removed[cut - 1] if cut else 0)


_UNCUT = Places((), ())


def joined_lines(data: bytes) -> tuple[bytes, Places]:
    """Return data without its single line breaks, even escaped ones, and without a break that begins at its end.

    Encoders put such breaks between the lines that they write. Blank lines stay.
    """
    if not (b"\n" in data or b"\r" in data or b"\\" in data):
        return data, _UNCUT
    pieces, cuts, removed, gone, place = list[bytes](), list[int](), list[int](), 0, 0
    for match in _RUN.finditer(data, 1):
        start, end = match.span()
        if _BREAK.fullmatch(data, start, end) or (end == len(data) and _BEGUN.fullmatch(data, start, end)):
            pieces.append(data[place:start])
            place = end
            cuts.append(start - gone)
            gone += end - start
            removed.append(gone)
    return (b"".join((*pieces, data[place:])) if gone else data), Places(cuts, removed)
