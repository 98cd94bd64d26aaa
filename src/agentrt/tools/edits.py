"""The edits of `file_editor` on text. Pure: each gives the new text, or raises `ToolError` with what to do instead."""

from __future__ import annotations

import difflib
from io import StringIO

from ..errors import ToolError

SNIPPET = 4
"""Lines shown before and after an edit."""


def replace_once(text: str, old: str, new: str, path: str) -> tuple[str, int]:
    """`text` with its only occurrence of `old` replaced, and the line (from 1) where that begins."""
    if old == new:
        raise ToolError("old_str and new_str are the same: nothing to replace")
    if not old:
        raise ToolError("old_str is empty: give the text to replace, or use insert")
    lines = [text.count("\n", 0, place) + 1 for place in _occurrences(text, old)]
    if not lines:
        raise ToolError(
            f"old_str does not occur in {path}: view the file and copy the text exactly, with its white space"
        )
    if len(lines) > 1:
        where = ", ".join(map(str, lines))
        raise ToolError(
            f"old_str occurs {len(lines)} times in {path}, at lines {where}: add lines around it until it is unique"
        )
    return text.replace(old, new, 1), lines[0]


def _occurrences(text: str, part: str) -> list[int]:
    places = []
    place = text.find(part)
    while place >= 0:
        places.append(place)
        place = text.find(part, place + 1)
    return places


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends; only a newline ends one, as other tools count them."""
    return list(StringIO(text))


def insert_after(text: str, line: int, new: str) -> str:
    """`text` with `new` after its line number `line`; 0 inserts at the beginning."""
    lines = _lines(text)
    if not 0 <= line <= len(lines):
        raise ToolError(
            f"insert_line {line} is not in the file: it has {len(lines)} lines (0 inserts at the beginning)"
        )
    if lines and line == len(lines) and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    lines.insert(line, new if new.endswith("\n") else new + "\n")
    return "".join(lines)


def numbered(text: str, first: int = 1, last: int | None = None) -> str:
    """Lines `first` to `last` with their numbers, as `cat -n` shows them."""
    shown = enumerate(_lines(text)[first - 1 : last], first)
    return "".join(f"{number:6}\t{line}" for number, line in shown).removesuffix("\n")


def view_lines(text: str, view_range: list[int] | None) -> str:
    """The numbered lines of a range [first, last]; last -1 is the end."""
    if view_range is None:
        return numbered(text)
    count = len(_lines(text))
    if len(view_range) != 2:
        raise ToolError("view_range takes two numbers: [first, last], with last -1 for the end")
    first, last = view_range
    if not 1 <= first <= max(count, 1) or (last != -1 and last < first):
        raise ToolError(f"view_range {view_range} is not in the file: it has {count} lines")
    return numbered(text, first, None if last == -1 else last)


def snippet(text: str, line: int, height: int) -> str:
    """The numbered lines around an edit of `height` lines that begins at `line`."""
    return numbered(text, max(1, line - SNIPPET), line + height - 1 + SNIPPET)


def diff(old: str, new: str, path: str) -> str:
    """A unified diff."""
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
