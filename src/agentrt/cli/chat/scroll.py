"""`Scroll`: text on its way into the terminal's scrollback. Pure.

A console writes into it. Complete lines are taken out of it and written above the prompt; an unfinished line stays in
it, and is shown above the prompt until it is complete.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator

from rich.cells import cell_len

ROWS = 4
"""Rows of an unfinished line that stay; the rows before them are taken out as lines."""

A_FRAME = 16_384
"""Approximate number of characters that are taken out at once."""

_PARTS = re.compile(r"(\x1b\[[0-9;]*m)|([^\S\x1b]+|[^\s\x1b]+)")
"""A change of style, a word, or the space between words."""

_CHANGE = 64
"""Maximum number of characters of a change of style."""

RESET = "\x1b[0m"


class Scroll:
    """A file that a console writes styled text to; `changed` is called after each write."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._whole: deque[str] = deque()
        self._changed = changed
        self.tail = ""
        """The unfinished line."""

    @property
    def has_lines(self) -> bool:
        """Whether there are lines to take."""
        return bool(self._whole)

    def write(self, text: str) -> int:
        """Append text."""
        *lines, self.tail = (self.tail + text).split("\n")
        self._whole += lines
        self._changed()
        return len(text)

    def flush(self) -> None:
        """Do nothing."""

    def isatty(self) -> bool:
        """Return True: the text ends up on a terminal."""
        return True

    def take(self, columns: int, most: int = A_FRAME) -> list[str]:
        """Take out the complete lines, up to about `most` characters, and the surplus of an unfinished line, as rows of
        at most `columns` columns, cut between words.
        """
        rows, size = list[str](), 0
        while self._whole and size < most:
            line, rest = _cut(self._whole.popleft(), most)
            if rest:
                self._whole.appendleft(rest)
            rows += wrapped(line, columns)
            size += len(line)
        if not self._whole and len(self.tail) > (ROWS - 1) * columns:
            last = list(wrapped(self.tail, columns))
            if len(last) > ROWS:
                rows += last[: -ROWS + 1]
                self.tail = _joined(last[-ROWS + 1 :])
        return [_trimmed(row) for row in rows]

    def shown(self, columns: int) -> str:
        """Return the unfinished line as rows."""
        return "\n".join(map(_trimmed, wrapped(self.tail, columns))) if self.tail else ""


def wrapped(line: str, columns: int) -> Iterator[str]:
    """Return a styled line as rows of at most `columns` columns, cut between words if possible; each has its own style.

    Blanks at the end of a row may exceed the width.
    """
    style, row, width = "", "", 0
    for match in _PARTS.finditer(line):
        change, word = match[1], match[2]
        if change:
            style = "" if change in (RESET, "\x1b[m") else style + change
            row += change
            continue
        while word:
            size = cell_len(word) if len(word) <= 4 * columns else columns + 1
            if width + size <= columns or word.isspace():
                row, width, word = row + word, min(width + size, columns), ""
            elif width and (size <= columns or cell_len(word[0]) > columns - width):
                yield row + (RESET if style else "")
                row, width = style, 0
            else:
                part = _fitting(word, columns - width)
                yield row + part + (RESET if style else "")
                row, width, word = style, 0, word[len(part) :]
    if row or not line:
        yield row


def _cut(line: str, most: int) -> tuple[str, str]:
    """Return the beginning of a very long line, and its rest in the same style; a shorter line is returned whole."""
    if len(line) <= 2 * most:
        return line, ""
    place = most if (change := line.rfind("\x1b", most - _CHANGE, most)) < 0 else change
    style = ""
    for match in _PARTS.finditer(line, 0, place):
        if match[1]:
            style = "" if match[1] in (RESET, "\x1b[m") else style + match[1]
    return line[:place] + (RESET if style else ""), style + line[place:]


def _joined(rows: list[str]) -> str:
    """Return the line that rows were cut from, without the ends of styles at the cuts."""
    return "".join([*(row.removesuffix(RESET) for row in rows[:-1]), rows[-1]])


def _trimmed(row: str) -> str:
    """Return a row without trailing blanks."""
    return row.removesuffix(RESET).rstrip(" ") + RESET if row.endswith(RESET) else row.rstrip(" ")


def _fitting(word: str, columns: int) -> str:
    """Return as much of a word as fits, at least one character."""
    part = word[: max(columns, 1)]
    while len(part) > 1 and cell_len(part) > columns:
        part = part[:-1]
    return part
