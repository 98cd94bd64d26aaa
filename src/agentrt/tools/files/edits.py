"""The edits of `file_editor` on text, and its views. Errors are `ToolError`s with what to do instead. Pure."""

from __future__ import annotations

from itertools import islice

import msgspec

from ...errors import ToolError
from ..clipping import clip
from .alike import alike
from .difference import lines_of
from .runs import places

SNIPPET = 4
"""Lines shown before and after an edit."""

NEAR = 5
"""Maximum number of lines named as places where a missing text may have been meant."""

NAMED = 20
"""Maximum number of places named for a text that occurs more than once."""


class Replaced(msgspec.Struct, frozen=True):
    """A text after an edit, the line (from 1) where the edit begins, and a note for the model."""

    text: str
    line: int
    note: str = ""


def replace_once(text: str, old: str, new: str, path: str, named: tuple[str, str] = ("old_str", "new_str")) -> Replaced:
    """Return `text` with the only occurrence of `old` replaced; if there is none, with the only text replaced that
    differs from `old` just in white space.

    Raises `ToolError`, which calls `old` and `new` by the tool's argument names in `named`.
    """
    if old == new:
        raise ToolError(f"{named[0]} and {named[1]} are the same: nothing to replace")
    if not old:
        raise ToolError(f"{named[0]} is empty: give the text to replace, or use insert")
    found = list(islice(places(text, old), NAMED + 1))
    if not found:
        return _replaced_alike(text, old, new, path, named)
    lines = _lines_at(text, found)
    if len(lines) > 1:
        many = f"{len(lines)} times" if len(lines) <= NAMED else f"more than {NAMED} times"
        where = ", ".join(map(str, lines[:NAMED])) + (" and below" if len(lines) > NAMED else "")
        raise ToolError(f"{named[0]} occurs {many} in {path}, at lines {where}: add lines around it until it is unique")
    return Replaced(text.replace(old, new, 1), lines[0])


def _lines_at(text: str, found: list[int]) -> list[int]:
    """Return the line numbers, from 1, of places in ascending order."""
    numbers, line, at = list[int](), 1, 0
    for place in found:
        line, at = line + text.count("\n", at, place), place
        numbers.append(line)
    return numbers


def _replaced_alike(text: str, old: str, new: str, path: str, named: tuple[str, str]) -> Replaced:
    found = alike(text, old, new)
    if found is None:
        raise ToolError(
            f"{named[0]} does not occur in {path}: view the file and copy the text exactly, with its white space"
            + _near(text, old)
        )
    if text[found.start : found.end] == found.new:
        same = f"{named[0]} and {named[1]} are the same"
        raise ToolError(f"but for white space {found.how}, {same}, and {path} has that text already")
    line = text.count("\n", 0, found.start) + 1
    note = f" {named[0]} differs from the file in white space {found.how}: it was taken as what is meant."
    return Replaced(text[: found.start] + found.new + text[found.end :], line, note)


def _near(text: str, old: str) -> str:
    """Return a hint that names the lines equal to the first line of `old`, apart from white space; "" if none is."""
    first = next((line.strip() for line in old.split("\n") if line.strip()), None)
    at = [number for number, line in enumerate(lines_of(text), 1) if line.strip() == first]
    return f" (its first line is at {', '.join(map(str, at[:NEAR]))})" if at else ""


def insert_after(text: str, line: int, new: str) -> str:
    """Return `text` with `new` after its line number `line`; 0 inserts at the beginning."""
    lines = lines_of(text)
    if not 0 <= line <= len(lines):
        raise ToolError(
            f"insert_line {line} is not in the file: it has {len(lines)} lines (0 inserts at the beginning)"
        )
    if lines and line == len(lines) and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    lines.insert(line, new if new.endswith("\n") else new + "\n")
    return "".join(lines)


def numbered(text: str, first: int = 1, last: int | None = None) -> str:
    """Return lines `first` to `last` with their numbers, as `cat -n` shows them."""
    shown = enumerate(lines_of(text)[first - 1 : last], first)
    return "".join(f"{number:6}\t{line}" for number, line in shown).removesuffix("\n")


def shown_lines(text: str, view_range: list[int] | None, path: str, limit: int) -> str:
    """Return the numbered lines of a range [first, last], in at most `limit` characters; last -1 is the end.

    If not all fit, these are as many whole lines as fit (or the beginning of the first), and a note how to go on.
    """
    lines = lines_of(text)
    first, last = _range(len(lines), view_range)
    if not lines:
        return f"[{path} is empty]"
    shown = numbered(text, first, last)
    if len(shown) <= limit:
        past = view_range is not None and view_range[1] > len(lines)
        return shown + (f"\n[the file ends with line {len(lines)}]" if past else "")
    most = limit - len(_more(len(lines), last, len(lines), len(lines)))
    upto = shown.rfind("\n", 0, most + 1)
    until = first + shown.count("\n", 0, upto) if upto > 0 else first
    cut = shown[:upto] if upto > 0 else clip(shown.split("\n", 1)[0], most)
    return cut + _more(first, until, last, len(lines))


def _more(first: int, until: int, last: int, count: int) -> str:
    if until >= last:
        return f"\n[line {until} is too long to be shown whole: use the terminal, as with cut -c]"
    return f"\n[lines {first} to {until} of {count} are shown: go on with view_range [{until + 1}, {last}]]"


def _range(count: int, view_range: list[int] | None) -> tuple[int, int]:
    """Return the first and the last line to show of `count` lines. Raises `ToolError` for an invalid range."""
    if view_range is None:
        return 1, count
    if len(view_range) != 2:
        raise ToolError("view_range takes two numbers: [first, last], with last -1 for the end")
    first, last = view_range
    if not count:
        return 1, 0
    if not 1 <= first <= count or (last != -1 and last < first):
        raise ToolError(
            f"view_range {view_range} is not in the file: it has {count} lines. Give [first, last] with first from 1 to"
            f" {count}, and last not before it, or -1 for the end"
        )
    return first, count if last == -1 else min(last, count)


def snippet(text: str, line: int, height: int) -> str:
    """Return the numbered lines around an edit of `height` lines that begins at `line`."""
    return numbered(text, max(1, line - SNIPPET), line + height - 1 + SNIPPET)
