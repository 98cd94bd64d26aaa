"""Frames: the output that is sent to the terminal in one piece, and its maximum rate."""

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
"""Seconds between two frames for streamed text; a key is answered at once."""

BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"
"""Escape sequences around a frame (https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036,
"Synchronized Output"): terminals that know them show the whole frame at once, others ignore them.
"""


class FrameOutput(Vt100_Output):
    """A terminal output that is written once for each frame, between `begin` and `end`."""

    _held = False

    @classmethod
    def of_terminal(cls) -> FrameOutput:
        """Return the output of this process's terminal, which is not asked for the cursor position."""

        def size() -> Size:
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
            return Size(rows or 24, columns or 80)

        return cls(sys.stdout, size, os.environ.get("TERM"), enable_cpr=False)

    _columns = 0
    _screen: Screen | None = None

    def drawn(self, screen: Screen | None) -> None:
        """Record that this is on the terminal now, at its current width."""
        self._screen, self._columns = screen, self.get_size().columns

    def cursor_up(self, amount: int) -> None:
        """Go up by rows as they were drawn; a narrower terminal has broken them into more rows, which are added."""
        columns = self.get_size().columns
        if self._screen is not None and 0 < columns < self._columns:
            amount += more_rows(self._screen, amount, columns)
        self._screen = None
        super().cursor_up(amount)

    def begin(self) -> None:
        """Write nothing from now on."""
        self._held = True
        self.write_raw(BEGIN)

    def end(self) -> None:
        """Write the whole frame."""
        self.write_raw(END)
        self._held = False
        super().flush()

    def flush(self) -> None:
        """Write the output so far, unless a frame is incomplete."""
        if not self._held:
            super().flush()


def more_rows(screen: Screen, rows: int, columns: int) -> int:
    """Return how many additional rows the first `rows` of a screen take in so few columns."""
    more = 0
    for row in range(rows):
        cells = screen.data_buffer[row]
        width = max((column + cell.width for column, cell in cells.items() if cell.char.strip()), default=0)
        more += max(0, -(-width // columns) - 1)
    return more


class Pace:
    """Requests frames, at least `EVERY` seconds apart."""

    def __init__(self, draw: Callable[[], None]) -> None:
        self._draw = draw
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0

    def changed(self) -> None:
        """Report that there is something new to draw."""
        if self._timer is None:
            wait = self._last + EVERY - time.monotonic()
            self._timer = asyncio.get_running_loop().call_later(max(wait, 0), self._due)

    def drawn(self) -> None:
        """Report that a frame was drawn, whatever requested it; the time to the next one counts from now."""
        self._last = time.monotonic()

    def stop(self) -> None:
        """Request no more frames."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._draw()
