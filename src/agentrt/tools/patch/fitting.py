"""Where the hunks of a patch belong in a file. Pure.

A hunk belongs where its lines stand exactly, else where they stand but for white space at their ends, for one and the
same indentation, or for typographic marks. What is kept stays as the file has it.
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
"""How an indentation is changed: from one beginning of a line to another."""
Same: TypeAlias = Callable[[str, str], Shift | None]
"""How a line of a patch is to be changed to be one of a file; None where it is another line."""

_MARKS = str.maketrans("‐‑‒–—―−‘’‚‛“”„‟\u00a0\u2002\u2003\u2009\u202f\u3000", "-------''''\"\"\"\"      ")

SHOWN = 6
"""Lines of a hunk that are told where it does not fit."""


class Fit(msgspec.Struct, frozen=True):
    """A hunk in its place: `lines` stand for `length` lines from index `start` on; `how` says in what it differed."""

    start: int
    length: int
    lines: tuple[str, ...]
    how: str = ""


def fitted(
    lines: Sequence[str], hunks: Sequence[Hunk], path: str, step: Callable[[], object] = lambda: None
) -> list[Fit]:
    """The places of hunks in a file, in their order, none over another. Raises `ToolError`.

    `step` is called now and then; what it raises ends the work.
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
    """The lines with the hunks in their places."""
    found, at = list[str](), 0
    for fit in fits:
        found += [*lines[at : fit.start], *fit.lines]
        at = fit.start + fit.length
    return [*found, *lines[at:]]


def _below(lines: Sequence[str], hunk: Hunk, at: int) -> int | None:
    """The index below the lines that it names as those above it; None where they are not there."""
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
    """The lines of a hunk as the file has them, and what is added with the indentation of the place."""
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
    """Where the old lines stand, and how their indentation is to be changed, from one prefix to another."""
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
    """From one prefix to another, of which one is empty: further in, or further out."""
    if line.strip() != there.strip():
        return None
    mine, its = _margin(line), _margin(there)
    if its.endswith(mine):
        return "", its[: len(its) - len(mine)]
    return (mine[: len(mine) - len(its)], "") if mine.endswith(its) else None


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


class Way(NamedTuple):
    """A way in which lines may be the same: then their `form` is."""

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
    """The lines of a file, and where runs of them stand."""

    def __init__(self, lines: Sequence[str], step: Callable[[], object]) -> None:
        self.lines, self.step = lines, step
        self._known = dict[Way, tuple[frozenset[str], Runs]]()

    def candidates(self, old: Sequence[str], way: Way, first: int) -> Iterator[int]:
        """Where lines may begin that have the same forms, in their order, from one on."""
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
