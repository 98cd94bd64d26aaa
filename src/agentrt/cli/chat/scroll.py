"""`Scroll`: text on its way into the terminal's scrollback. Pure.

A console writes into it. Whole lines are taken out of it, to be written above the prompt; a line that is not finished
stays, and is shown above the prompt until it is.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator

from rich.cells import cell_len

ROWS = 4
"""Rows of an unfinished line that stay; what comes before them is taken out as lines."""

A_FRAME = 16_384
"""Characters that are taken out at once, about."""

_PARTS = re.compile(r"(\x1b\[[0-9;]*m)|([^\S\x1b]+|[^\s\x1b]+)")
"""A change of style, or a word or what is between words."""

_CHANGE = 64
"""Characters that a change of style has at most."""

RESET = "\x1b[0m"


class Scroll:
    """A file that a console writes styled text to; `changed` is called with everything that is written."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._whole: deque[str] = deque()
        self._changed = changed
        self.tail = ""
        """The line that is not finished."""

    @property
    def has_lines(self) -> bool:
        """Whether there are lines to be taken."""
        return bool(self._whole)

    def write(self, text: str) -> int:
        """Take more text."""
        *lines, self.tail = (self.tail + text).split("\n")
        self._whole += lines
        self._changed()
        return len(text)

    def flush(self) -> None:
        """Nothing to do."""

    def isatty(self) -> bool:
        """What it is given ends on a terminal."""
        return True

    def take(self, columns: int, most: int = A_FRAME) -> list[str]:
        """Lines that are whole by now, of about so many characters, and what is too much of an unfinished one: as rows
        of at most so many columns, cut between words.
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
        """The unfinished line as rows."""
        return "\n".join(map(_trimmed, wrapped(self.tail, columns))) if self.tail else ""


def wrapped(line: str, columns: int) -> Iterator[str]:
    """A styled line as rows of at most so many columns, cut between words where that goes; each has its own style.

    Blanks at the end of a row may go beyond.
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
    """The beginning of a very long line, and its rest in the same style; a line that is not is left whole."""
    if len(line) <= 2 * most:
        return line, ""
    place = most if (change := line.rfind("\x1b", most - _CHANGE, most)) < 0 else change
    style = ""
    for match in _PARTS.finditer(line, 0, place):
        if match[1]:
            style = "" if match[1] in (RESET, "\x1b[m") else style + match[1]
    return line[:place] + (RESET if style else ""), style + line[place:]


def _joined(rows: list[str]) -> str:
    """Rows as the line that they were cut from: the ends of the styles at the cuts are taken out."""
    return "".join([*(row.removesuffix(RESET) for row in rows[:-1]), rows[-1]])


def _trimmed(row: str) -> str:
    """A row without blanks at its end."""
    return row.removesuffix(RESET).rstrip(" ") + RESET if row.endswith(RESET) else row.rstrip(" ")


def _fitting(word: str, columns: int) -> str:
    """As much of a word as fits, at least one character."""
    part = word[: max(columns, 1)]
    while len(part) > 1 and cell_len(part) > columns:
        part = part[:-1]
    return part
