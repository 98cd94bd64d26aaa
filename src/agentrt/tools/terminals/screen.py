"""`Screen`: what a person would see of a full-screen program, drawn by a terminal emulator. Pure."""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import TYPE_CHECKING

from ...protocols import Masking

if TYPE_CHECKING:
    import pyte

ROWS, COLUMNS = 40, 120

VARIABLES = {"TERM": "linux"}
"""Environment of a command with a screen: the emulator implements the Linux console (console_codes(4))."""

SET_UP = f"stty echo onlcr rows {ROWS} cols {COLUMNS} 2>/dev/null; "
"""Shell code that is put before a command with a screen."""

KEPT = 128 * 1024
"""Only the last so many bytes of each piece of output are drawn: what came before has left the screen."""

COMBINING = 4
"""Maximum combining marks on one character."""


_SEQUENCE = re.compile(r"(\x1b\[[0-?]*[ -/]*[@-~])")


class Screen:
    """The screen of one command, without the secrets that `masking` knows."""

    def __init__(self, masking: Masking) -> None:
        import pyte  # loaded with the first screen

        self._masking = masking
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = self._new_stream()

    def feed(self, data: bytes) -> None:
        """Draw what the program has printed. For a thread if it is much."""
        text = _bounded(self._masking.feed(self._decoder.decode(data[-KEPT:])))
        for piece in _SEQUENCE.split(text):
            try:
                self._stream.feed(piece)
            except Exception:  # the emulator mistook the sequence for another one: it draws nothing
                self._stream = self._new_stream()

    def _new_stream(self) -> pyte.Stream:
        import pyte

        return pyte.Stream(self._screen)

    @property
    def lines(self) -> list[str]:
        """The lines from the top to the last one that is not empty."""
        lines = [line.rstrip() for line in self._rows()]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def wrapped(self) -> str:
        """All rows joined, so that a word that continues in the next row is whole."""
        return "".join(self._rows())

    def _rows(self) -> list[str]:
        """Return all rows. An empty cell follows a wide character, and may stay when the character is overwritten: the
        emulator's own `display` fails on that.
        """
        rows = (self._screen.buffer[row] for row in range(ROWS))
        return ["".join(row[column].data for column in range(COLUMNS)) for row in rows]

    @property
    def cursor(self) -> tuple[int, int]:
        """The row and the column of the cursor, from 1."""
        return self._screen.cursor.y + 1, self._screen.cursor.x + 1


def _bounded(text: str) -> str:
    """Return the text with at most `COMBINING` combining marks in a row."""
    if text.isascii():
        return text
    kept, run = list[str](), 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= COMBINING:
            kept.append(character)
    return "".join(kept)
