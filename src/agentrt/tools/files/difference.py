"""A unified diff of two texts, in bounded time. Pure.

For long texts with little in common, the diff shows more lines as replaced than necessary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from io import StringIO
from itertools import accumulate
from typing import Literal

from ...prefix import common_prefix

AROUND = 3
"""Lines shown before and after a change."""

STEPS = 5_000_000
"""Maximum number of line comparisons: some seconds."""


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends; only a newline ends a line, as other tools count lines."""
    return list(StringIO(text))


def diff(old: str, new: str, path: str) -> str:
    """Return a unified diff; empty if the texts are the same."""
    said, name = list(_hunks(lines_of(old), lines_of(new))), path.lstrip("/")
    return "".join([f"--- a/{name}\n", f"+++ b/{name}\n", *said]) if said else ""


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    for group in _Bounded(before, after).get_grouped_opcodes(AROUND):
        first, last = group[0], group[-1]
        old, new = _range(first[1], last[2]), _range(first[3], last[4])
        yield f"@@ -{old} +{new} @@\n"
        for kind, a, b, c, d in group:
            if kind == "equal":
                yield from map(_line, " " * (b - a), before[a:b])
                continue
            yield from map(_line, "-" * (b - a), before[a:b])
            yield from map(_line, "+" * (d - c), after[c:d])


def _range(begin: int, end: int) -> str:
    """Return a range as a hunk names it: first line and count; if it is empty, the line before (POSIX, diff -u)."""
    length = end - begin
    first = begin + (1 if length else 0)
    return str(first) if length == 1 else f"{first},{length}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


class _Bounded(SequenceMatcher[str]):
    """A matcher that finds no more matches once `STEPS` comparisons are used up.

    It compares only what is between the lines that both texts begin and end with, and takes those as equal: among lines
    that repeat, it might match them with others. The context of a hunk would then be too short, which patch(1) takes
    for an end of the file.
    """

    b2j: dict[str, list[int]]
    """Where each line stands in the second text, as `difflib` documents it."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._head = head = common_prefix(before, after)
        self._tail = tail = common_prefix(before[head:][::-1], after[head:][::-1])
        self._ends = len(before), len(after)
        between = before[head : len(before) - tail]
        super().__init__(None, between, after[head : len(after) - tail])
        self._left, places = STEPS, self.b2j
        self._steps = list(accumulate((1 + len(places.get(line, ())) for line in between), initial=0))
        """The maximum number of comparisons for all lines before each line."""

    def get_opcodes(self) -> list[Opcode]:
        """Return how the first text becomes the second one, as `difflib` does."""
        head, tail, (old, new) = self._head, self._tail, self._ends
        between: list[Opcode] = [
            (kind, a + head, b + head, c + head, d + head) for kind, a, b, c, d in super().get_opcodes()
        ]
        first: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
        last: list[Opcode] = [("equal", old - tail, old, new - tail, new)] if tail else []
        return [*first, *between, *last]

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """Return the longest run of lines that is in both; an empty one if finding it takes too many comparisons."""
        steps = self._steps[-1 if ahi is None else ahi] - self._steps[alo]
        if steps > self._left:
            return Match(alo, blo, 0)
        self._left -= steps
        return super().find_longest_match(alo, ahi, blo, bhi)
