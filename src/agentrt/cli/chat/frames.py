"""Frames: what the terminal is sent at once, and how often that may be."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable

from prompt_toolkit.data_structures import Size
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.output.vt100 import Vt100_Output

EVERY = 1 / 30
"""Seconds between two frames for what streams in; a key is answered at once."""

BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"
"""Around a frame, so that a terminal that knows them shows all of it at once, and others ignore them
(https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036, "Synchronized Output").
"""


class FrameOutput(Vt100_Output):
    """A terminal that is written to once a frame, between `begin` and `end`."""

    _held = False

    @classmethod
    def of_terminal(cls) -> FrameOutput:
        """That of this process, which is not asked where its cursor is."""

        def size() -> Size:
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
            return Size(rows or 24, columns or 80)

        return cls(sys.stdout, size, os.environ.get("TERM"), enable_cpr=False)

    _columns = 0
    _screen: Screen | None = None

    def drawn(self, screen: Screen | None) -> None:
        """This is on the terminal now, at the width that it has."""
        self._screen, self._columns = screen, self.get_size().columns

    def cursor_up(self, amount: int) -> None:
        """Go up so many rows of what was drawn, which a terminal that became narrower has broken into more of them."""
        columns = self.get_size().columns
        if self._screen is not None and 0 < columns < self._columns:
            amount += more_rows(self._screen, amount, columns)
        self._screen = None
        super().cursor_up(amount)

    def begin(self) -> None:
        """From now on nothing is written."""
        self._held = True
        self.write_raw(BEGIN)

    def end(self) -> None:
        """Write all of it."""
        self.write_raw(END)
        self._held = False
        super().flush()

    def flush(self) -> None:
        """Write what there is, unless a frame is not whole."""
        if not self._held:
            super().flush()


def more_rows(screen: Screen, rows: int, columns: int) -> int:
    """How many rows the first ones of a screen take more where there are only so many columns."""
    more = 0
    for row in range(rows):
        cells = screen.data_buffer[row]
        width = max((column + cell.width for column, cell in cells.items() if cell.char.strip()), default=0)
        more += max(0, -(-width // columns) - 1)
    return more


class Pace:
    """Asks for a frame, `EVERY` seconds after the last one that it asked for, at the earliest."""

    def __init__(self, draw: Callable[[], None]) -> None:
        self._draw = draw
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0

    def changed(self) -> None:
        """There is something new to be drawn."""
        if self._timer is None:
            wait = self._last + EVERY - time.monotonic()
            self._timer = asyncio.get_running_loop().call_later(max(wait, 0), self._due)

    def drawn(self) -> None:
        """A frame was drawn, whoever asked for it; the next one takes its time from here."""
        self._last = time.monotonic()

    def stop(self) -> None:
        """Ask no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._draw()
