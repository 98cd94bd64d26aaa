"""Finds the places in a file where the hunks of a patch belong. Pure.

A hunk belongs where its lines stand exactly; otherwise where they differ only in white space at their ends, by the same
indentation, or in typographic marks. Lines that a hunk keeps stay as the file has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

import msgspec

from ...errors import ToolError
from ..files.runs import Runs
from .envelope import Hunk

Shift: TypeAlias = tuple[str, str]
"""A change of indentation: the prefix of a line to remove, and the prefix to put in its place."""
Same: TypeAlias = Callable[[str, str], Shift | None]
"""A comparison: the shift that turns a line of a patch into a line of a file; None if they are different lines."""

_MARKS = str.maketrans("‐‑‒–—―−‘’‚‛“”„‟\u00a0\u2002\u2003\u2009\u202f\u3000", "-------''''\"\"\"\"      ")

SHOWN = 6
"""Maximum number of lines shown of a hunk that does not fit, and of places named for its first line."""


class Fit(msgspec.Struct, frozen=True):
    """A hunk in its place: `lines` replace `length` lines from index `start` on; `how` describes an inexact fit."""

    start: int
    length: int
    lines: tuple[str, ...]
    how: str = ""


def fitted(
    lines: Sequence[str], hunks: Sequence[Hunk], path: str, step: Callable[[], object] = lambda: None
) -> list[Fit]:
    """Return the places of hunks in a file, in order and without overlaps. Raises `ToolError` if a hunk does not fit.

    `step` is called regularly; an exception from it ends the work.
    """
    found, at, there = list[Fit](), 0, Lines(lines, step)
    for number, hunk in enumerate(hunks, 1):
        begin = _below(lines, hunk, at)
        fit = None if begin is None else _fit(there, hunk, begin)
        if fit is None:
            raise _misfit(lines, hunk, at if begin is None else begin, path, number, len(hunks))
        found.append(fit)
        at = fit.start + fit.length
    return found


def patched(lines: Sequence[str], fits: Sequence[Fit]) -> list[str]:
    """Return the lines with the hunks applied."""
    found, at = list[str](), 0
    for fit in fits:
        found += [*lines[at : fit.start], *fit.lines]
        at = fit.start + fit.length
    return [*found, *lines[at:]]


def _below(lines: Sequence[str], hunk: Hunk, at: int) -> int | None:
    """Return the index below the lines that the hunk names as `above`; None if they are not there, from `at` on."""
    for header in hunk.above:
        place = next((index for index in range(at, len(lines)) if _bare(lines[index]) == _bare(header)), None)
        if place is None:
            return None
        at = place + 1
    return at


def _bare(line: str) -> str:
    return line.translate(_MARKS).strip()


def _fit(there: Lines, hunk: Hunk, begin: int) -> Fit | None:
    old, lines = hunk.old, there.lines
    if not old:
        start = begin if hunk.above and not hunk.at_end else len(lines)
        return Fit(start, 0, tuple(line for _, line in hunk.lines))
    for at_end in (True, False) if hunk.at_end else (False,):
        for way in _WAYS:
            found = list(islice(_places(there, old, begin, at_end, way), 2))
            if not found:
                continue
            start, shift = found[0]
            elsewhere = "not at the end of the file" if hunk.at_end and not at_end else ""
            several = "in the first of several places" if len(found) > 1 else ""
            told = ", ".join(filter(None, (way.how, elsewhere, several)))
            return Fit(start, len(old), _lines_there(lines, hunk, start, shift), told)
    return None


def _lines_there(lines: Sequence[str], hunk: Hunk, start: int, shift: Shift) -> tuple[str, ...]:
    """Return the hunk's new lines: kept ones as the file has them, added ones with the indentation there."""
    found, at = list[str](), start
    for kind, line in hunk.lines:
        if kind == "+":
            found.append(shift[1] + line.removeprefix(shift[0]) if line.strip() else line)
            continue
        if kind == " ":
            found.append(lines[at])
        at += 1
    return tuple(found)


def _places(there: Lines, old: Sequence[str], begin: int, at_end: bool, way: Way) -> Iterator[tuple[int, Shift]]:
    """Yield each index where the old lines stand, and the shift of their indentation."""
    lines, first = there.lines, max(begin, len(there.lines) - len(old)) if at_end else begin
    for start in there.candidates(old, way, first):
        there.step()
        shifts = set[Shift]()
        for at, line in enumerate(old, start):
            if not line.strip() and not lines[at].strip() and way.same is not _exactly:
                continue
            shift = way.same(line, lines[at])
            if shift is None:
                break
            shifts.add(shift)
            if len(shifts) > 1:
                break
        else:
            yield start, next(iter(shifts), ("", ""))


def _exactly(line: str, there: str) -> Shift | None:
    return ("", "") if line == there else None


def _at_its_end(line: str, there: str) -> Shift | None:
    return ("", "") if line.rstrip() == there.rstrip() else None


def _in_marks(line: str, there: str) -> Shift | None:
    return ("", "") if line.translate(_MARKS).rstrip() == there.translate(_MARKS).rstrip() else None


def _in_indentation(line: str, there: str) -> Shift | None:
    """Return a shift in which at least one prefix is empty: the file's line is indented further, or less."""
    if line.strip() != there.strip():
        return None
    mine, its = _margin(line), _margin(there)
    if its.endswith(mine):
        return "", its[: len(its) - len(mine)]
    return (mine[: len(mine) - len(its)], "") if mine.endswith(its) else None


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


class Way(NamedTuple):
    """A way to compare lines: lines that are the same have the same `form`."""

    form: Callable[[str], str]
    same: Same
    how: str


_WAYS = (
    Way(lambda line: line, _exactly, ""),
    Way(str.rstrip, _at_its_end, "but for white space at the ends of lines"),
    Way(str.strip, _in_indentation, "but for its indentation"),
    Way(lambda line: line.translate(_MARKS).rstrip(), _in_marks, "but for typographic marks"),
)


class Lines:
    """The lines of a file, in which runs of lines are found."""

    def __init__(self, lines: Sequence[str], step: Callable[[], object]) -> None:
        self.lines, self.step = lines, step
        self._known = dict[Way, tuple[frozenset[str], Runs]]()

    def candidates(self, old: Sequence[str], way: Way, first: int) -> Iterator[int]:
        """Return the indices from `first` on where a run of lines begins that has the same forms as `old`."""
        self.step()
        forms, runs = self._of(way)
        wanted = [way.form(line) for line in old]
        return runs.of(wanted, first) if forms.issuperset(wanted) else iter(())

    def _of(self, way: Way) -> tuple[frozenset[str], Runs]:
        if way not in self._known:
            seen = [way.form(line) for line in self.lines]
            self._known[way] = frozenset(seen), Runs(seen)
        return self._known[way]


def _misfit(lines: Sequence[str], hunk: Hunk, at: int, path: str, number: int, count: int) -> ToolError:
    which = f"hunk {number} of {count}" if count > 1 else "the hunk"
    where = f"{which} of {path} (line {hunk.number} of the patch)"
    bare = [_bare(line) for line in lines]
    known = frozenset(bare)
    missing = next((header for header in hunk.above if _bare(header) not in known), None)
    if missing is not None:
        return ToolError(f"{where}: there is no line {missing!r} for its @@. View the file again")
    old = hunk.old or list(hunk.above)
    shown = "\n".join(old[:SHOWN]) + ("\n..." if len(old) > SHOWN else "")
    first = next((line for line in old if line.strip()), "")
    near = [str(index) for index, line in enumerate(bare, 1) if first and line == _bare(first)][:SHOWN]
    after = f" after line {at}" if at else ""
    hint = f" The first of them is at line {', '.join(near)}." if near else ""
    again = "View the file and copy them exactly"
    return ToolError(f"{where} does not fit: these lines do not follow on one another{after}.{hint} {again}\n{shown}")
