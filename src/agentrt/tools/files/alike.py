"""Finds a text that a model copied with different white space. Pure.

Only white space may differ: at the ends of lines, around the text, or by the same indentation before each line. The
replacement is adapted in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from ...prefix import common_prefix
from .runs import Runs, places

MOST_READ = 50_000_000
"""Maximum number of characters compared with the places where a text may be meant: some seconds."""

_BLANK = " \t"
_EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_REST = re.compile(r"[ \t]*\n")
_TO_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")

Edge: TypeAlias = Callable[[str, int], bool]
"""A check whether a part may begin, or end, at a place of a text."""


class Alike(msgspec.Struct, frozen=True):
    """The place of a text, its replacement, and how the text in the file differs from the given one."""

    start: int
    end: int
    new: str
    how: str


def alike(text: str, old: str, new: str) -> Alike | None:
    """Return the only place of `text` that `old` can mean, with `new` adapted to it; None if there is not just one."""
    if not old.strip():
        return None
    return _by_line_ends(text, old, new) or _by_indentation(text, old, new) or _by_ends(text, old, new)


def _by_line_ends(text: str, old: str, new: str) -> Alike | None:
    core = _core(old)
    begins, ends = _edges(old, core)
    wanted, lines = _without_line_ends(core), text.split("\n")
    seen = [line.rstrip(_BLANK) for line in lines]
    span = _only("\n".join(seen), wanted, _at_line if _EMPTY_LINES.match(old) else begins, ends)
    if span is None:
        return None
    start, end = (_in(lines, seen, place) for place in span)
    return _placed(text, (start, end), (old, core), new, "at the ends of lines")


def _without_line_ends(text: str) -> str:
    return "\n".join(line.rstrip(_BLANK) for line in text.split("\n"))


def _in(lines: list[str], seen: list[str], place: int) -> int:
    """Return the place in the joined `lines` for a place in the joined `seen`: the same lines without white space at
    their ends.
    """
    gone = 0
    for line, short in zip(lines, seen, strict=True):
        if place <= len(short):
            return gone + place
        place -= len(short) + 1
        gone += len(line) + 1
    raise AssertionError("it is behind the text")


def _by_indentation(text: str, old: str, new: str) -> Alike | None:
    """Find whole lines that are all indented further, or all less, by the same amount."""
    core = _core(old)
    lines = core.split("\n")
    margin = _margin(lines)
    wanted = [line.removeprefix(margin).rstrip(_BLANK) if line.strip() else "" for line in lines]
    there = text.split("\n")
    found, known = list[tuple[int, str]](), Runs([line.strip(_BLANK) for line in there])
    for start in _tried(known.of([line.strip(_BLANK) for line in wanted]), core):
        if start is None:
            return None
        its = there[start][: len(there[start].rstrip(_BLANK)) - len(wanted[0])]
        shifted = [f"{its}{line}" if line else "" for line in wanted]
        if not its.strip(_BLANK) and shifted == [line.rstrip(_BLANK) for line in there[start : start + len(wanted)]]:
            found.append((start, its))
        if len(found) > 1:
            return None
    if not found:
        return None
    (start, its), until = found[0], found[0][0] + len(wanted)
    begin = sum(len(line) + 1 for line in there[:start])
    end = begin + len("\n".join([*there[start : until - 1], there[until - 1].rstrip(_BLANK)]))
    placed = _placed(text, (begin, end), (old, core), new, "in its indentation")
    kept = placed.new.split("\n")
    if any(line.strip() and not line.startswith(margin) for line in kept):
        return None
    return replace(placed, new="\n".join(its + line.removeprefix(margin) if line.strip() else line for line in kept))


def _by_ends(text: str, old: str, new: str) -> Alike | None:
    core = old.strip()
    span = _only(text, core, *_edges(old, core))
    return None if span is None else _placed(text, span, (old, core), new, "around it")


def _edges(old: str, core: str) -> tuple[Edge, Edge]:
    """Return the checks for the ends of `core`. Where `old` has white space beside it, the file must not continue a
    word; where `old` has a newline after it, the file must have nothing else on the line.
    """
    before, after = old[: old.index(core)], old[old.index(core) + len(core) :]
    begins = _at_word if before and re.match(r"\w", core) else _anywhere
    if "\n" in after:
        return begins, _at_line_end
    return begins, _at_word_end if after and re.search(r"\w\Z", core) else _anywhere


def _anywhere(text: str, place: int) -> bool:
    return True


def _at_word(text: str, place: int) -> bool:
    return not place or re.match(r"\w", text[place - 1]) is None


def _at_word_end(text: str, place: int) -> bool:
    return re.match(r"\w", text[place : place + 1]) is None


def _at_line(text: str, place: int) -> bool:
    return not place or text[place - 1] == "\n"


def _at_line_end(text: str, place: int) -> bool:
    return _TO_LINE_END.match(text, place) is not None


def _only(text: str, part: str, begins: Edge, ends: Edge) -> tuple[int, int] | None:
    """Return the span of a part if exactly one place passes the checks; None otherwise, and if there are too many
    places to check.
    """
    found = list[tuple[int, int]]()
    for start in _tried(places(text, part), part):
        if start is None:
            return None
        end = start + len(part)
        if begins(text, start) and ends(text, end):
            found.append((start, end))
        if len(found) > 1:
            return None
    return found[0] if found else None


def _tried(found: Iterator[int], part: str) -> Iterator[int | None]:
    """Yield the places where a part may be meant; at the limit set by `MOST_READ` yield None and end."""
    most = 2 + MOST_READ // (len(part) + 100)
    yield from islice(found, most)
    if next(found, None) is not None:
        yield None


def _core(old: str) -> str:
    """Return a text without empty lines at its beginning and white space at its end."""
    return _EMPTY_LINES.sub("", old).rstrip()


def _margin(lines: list[str]) -> str:
    """Return the white space that all lines begin with, blank lines aside."""
    starts = [line[: len(line) - len(line.lstrip(_BLANK))] for line in lines if line.strip()]
    low, high = min(starts), max(starts)
    return low[: common_prefix(low, high)]


def _placed(text: str, span: tuple[int, int], given: tuple[str, str], new: str, how: str) -> Alike:
    """Return the replacement for the `core` of `old` at `span`; handle the white space that `old` and `new` have around
    their cores.

    Newlines after the core are added or removed by as many as `new` has more or less than `old`, as far as the file has
    them. If the file has fewer than `old`, one stays behind what remains of the line: it is not joined with the next.
    """
    (old, core), (start, end) = given, span
    before, after = old[: old.index(core)], old[old.index(core) + len(core) :]
    if before:
        new = new.removeprefix(before)
    if after:
        kept, there = new.rstrip(), 0
        wanted, given_lines = new.count("\n", len(kept)), after.count("\n")
        while there < given_lines and (line := _REST.match(text, end)) is not None:
            end, there = line.end(), there + 1
        remains = kept or text[text.rfind("\n", 0, start) + 1 : start].strip()
        least = min(there, 1 if remains and there < given_lines else wanted, 1)
        new = kept + "\n" * max(wanted - (given_lines - there), least)
    return Alike(start, end, new, how)
