"""`Backoff`: how long to wait before a server is tried again."""

from __future__ import annotations

import random
import time

FIRST, MOST = 0.05, 5.0
"""Seconds before the first new try, and before any."""


class Backoff:
    """Waits that double, each cut by up to a half at random, so that many clients do not come at once.

    After progress, or a long time without one, they begin anew.
    """

    def __init__(self) -> None:
        self._tries, self._last = 0, 0.0
        self._well = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since it last went well, or since the beginning."""
        return time.monotonic() - self._well

    def well(self, *, progress: bool) -> None:
        """It goes well now."""
        self._well = time.monotonic()
        if progress:
            self._tries = 0

    def next(self) -> float:
        """Seconds to wait now."""
        now = time.monotonic()
        if now - self._last > 2 * MOST:
            self._tries = 0
        longest = min(MOST, FIRST * 2.0 ** min(self._tries, 16))
        self._tries, self._last = self._tries + 1, now
        return longest * random.uniform(0.5, 1.0)
