"""`Scroll`: text on its way into the terminal's scrollback. Pure.

A console writes into it. Whole lines are taken out of it, to be written above the prompt; a line that is not finished
stays, and is shown above the prompt until it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len

ROWS = 4
"""Rows of an unfinished line that stay; what comes before them is taken out as lines."""

_PARTS = re.compile(r"(\x1b\[[0-9;]*m)|([^\S\x1b]+|[^\s\x1b]+)")
"""A change of style, or a word or what is between words."""

RESET = "\x1b[0m"


class Scroll:
    """A file that a console writes styled text to."""

    def __init__(self) -> None:
        self._whole: list[str] = []
        self.tail = ""
        """The line that is not finished."""
        self.written = 0
        """Rises with everything that is written."""

    def write(self, text: str) -> int:
        """Take more text."""
        *lines, self.tail = (self.tail + text).split("\n")
        self._whole += lines
        self.written += 1
        return len(text)

    def flush(self) -> None:
        """Nothing to do."""

    def isatty(self) -> bool:
        """What it is given ends on a terminal."""
        return True

    def take(self, columns: int) -> list[str]:
        """The lines that are whole by now, and what is too much of an unfinished one, for rows of so many columns."""
        lines, self._whole = self._whole, []
        if len(self.tail) > (ROWS - 1) * columns:
            rows = list(wrapped(self.tail, columns))
            if len(rows) > ROWS:
                lines += rows[: -ROWS + 1]
                self.tail = "".join(_carried(rows[-ROWS + 1 :]))
        return lines


def _carried(rows: list[str]) -> Iterator[str]:
    """Rows as the line that they were cut from: what ended and began the style at each cut is taken out."""
    for number, row in enumerate(rows):
        yield row if number == len(rows) - 1 else row.removesuffix(RESET)


def wrapped(line: str, columns: int) -> Iterator[str]:
    """A styled line as rows of at most so many columns, cut between words where that goes; each has its own style."""
    style, row, width = "", "", 0
    for match in _PARTS.finditer(line):
        change, word = match[1], match[2]
        if change:
            style = "" if change in (RESET, "\x1b[m") else style + change
            row += change
            continue
        while word:
            size = cell_len(word)
            if width + size <= columns:
                row, width, word = row + word, width + size, ""
            elif width and size <= columns:
                yield row + (RESET if style else "")
                row, width = style, 0
                word = word.lstrip(" ")
            else:
                part = _fitting(word, columns - width)
                yield row + part + (RESET if style else "")
                row, width, word = style, 0, word[len(part) :]
    if row or not line:
        yield row


def _fitting(word: str, columns: int) -> str:
    """As much of a word as fits, at least one character."""
    part = word[: max(columns, 1)]
    while len(part) > 1 and cell_len(part) > columns:
        part = part[:-1]
    return part
