"""`Screen`: what a person would see of a program that fills its terminal, as a terminal emulator has it. Pure."""

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
"""What tells programs of it: the emulator knows what the console of Linux does (console_codes(4))."""

SET_UP = f"stty echo onlcr rows {ROWS} cols {COLUMNS} 2>/dev/null; "
"""What a command begins with that has a screen."""

KEPT = 128 * 1024
"""Bytes, the last ones, that are looked at of what comes at once: what stood before has left the screen."""

COMBINING = 4
"""Marks that are combined with one character, at most."""


_SEQUENCE = re.compile(r"(\x1b\[[0-?]*[ -/]*[@-~])")


class Screen:
    """The screen of one command; what it shows has no secret that `masking` knows."""

    def __init__(self, masking: Masking) -> None:
        import pyte  # with the first screen

        self._masking = masking
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = self._new_stream()

    def feed(self, data: bytes) -> None:
        """Take what the program has printed; for a thread when it is much."""
        text = _bounded(self._masking.feed(self._decoder.decode(data[-KEPT:])))
        for piece in _SEQUENCE.split(text):
            try:
                self._stream.feed(piece)
            except Exception:  # of the emulator, which takes the sequence for another one: it shows nothing
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
        """All of it as one line, in which a word is whole that goes on in the next line."""
        return "".join(self._rows())

    def _rows(self) -> list[str]:
        """All rows. A wide character has an empty one after it, which may be left when the wide one has gone: the
        emulator's own `display` fails on that.
        """
        rows = (self._screen.buffer[row] for row in range(ROWS))
        return ["".join(row[column].data for column in range(COLUMNS)) for row in rows]

    @property
    def cursor(self) -> tuple[int, int]:
        """The row and the column of the cursor, from 1."""
        return self._screen.cursor.y + 1, self._screen.cursor.x + 1


def _bounded(text: str) -> str:
    """The text without more than a few combining marks after one another."""
    if text.isascii():
        return text
    kept, run = list[str](), 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= COMBINING:
            kept.append(character)
    return "".join(kept)
