"""Where the hunks of a patch belong in a file. Pure.

A hunk belongs where its lines stand exactly, else where they stand but for white space at their ends, for one and the
same indentation, or for typographic marks. What is kept stays as the file has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from ...errors import ToolError
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


def fitted(lines: Sequence[str], hunks: Sequence[Hunk], path: str) -> list[Fit]:
    """The places of hunks in a file, in their order, none over another. Raises `ToolError`."""
    found, at = list[Fit](), 0
    for number, hunk in enumerate(hunks, 1):
        begin = _below(lines, hunk, at)
        fit = None if begin is None else _fit(lines, hunk, begin)
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


def _fit(lines: Sequence[str], hunk: Hunk, begin: int) -> Fit | None:
    old = hunk.old
    if not old:
        start = begin if hunk.above and not hunk.at_end else len(lines)
        return Fit(start, 0, tuple(line for _, line in hunk.lines))
    ways = [(at_end, same, how) for at_end in ((True, False) if hunk.at_end else (False,)) for same, how in _WAYS]
    for at_end, same, how in ways:
        places = _places(lines, old, begin, at_end, same)
        first = next(places, None)
        if first is None:
            continue
        start, shift = first
        also = sum(1 for _ in places)
        elsewhere = "not at the end of the file" if hunk.at_end and not at_end else ""
        several = f"in the first of {also + 1} places" if also else ""
        told = ", ".join(filter(None, (how, elsewhere, several)))
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


def _places(
    lines: Sequence[str], old: Sequence[str], begin: int, at_end: bool, same: Same
) -> Iterator[tuple[int, Shift]]:
    """Where the old lines stand, and how their indentation is to be changed, from one prefix to another."""
    last = len(lines) - len(old)
    for start in range(max(begin, last) if at_end else begin, last + 1):
        shifts = set[Shift]()
        for line, there in zip(old, lines[start : start + len(old)], strict=True):
            if not line.strip() and not there.strip() and same is not _exactly:
                continue
            shift = same(line, there)
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


_WAYS: tuple[tuple[Same, str], ...] = (
    (_exactly, ""),
    (_at_its_end, "but for white space at the ends of lines"),
    (_in_indentation, "but for its indentation"),
    (_in_marks, "but for typographic marks"),
)


def _misfit(lines: Sequence[str], hunk: Hunk, at: int, path: str, number: int, count: int) -> ToolError:
    which = f"hunk {number} of {count}" if count > 1 else "the hunk"
    where = f"{which} of {path} (line {hunk.number} of the patch)"
    missing = next((header for header in hunk.above if all(_bare(line) != _bare(header) for line in lines)), None)
    if missing is not None:
        return ToolError(f"{where}: there is no line {missing!r} for its @@. View the file again")
    old = hunk.old or list(hunk.above)
    shown = "\n".join(old[:SHOWN]) + ("\n..." if len(old) > SHOWN else "")
    first = next((line for line in old if line.strip()), "")
    near = [str(index + 1) for index, line in enumerate(lines) if first and _bare(line) == _bare(first)][:SHOWN]
    after = f" after line {at}" if at else ""
    hint = f" The first of them is at line {', '.join(near)}." if near else ""
    again = "View the file and copy them exactly"
    return ToolError(f"{where} does not fit: these lines do not follow on one another{after}.{hint} {again}\n{shown}")
