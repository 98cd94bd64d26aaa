"""`Backoff`: how long to wait before a server is tried again."""

from __future__ import annotations

import random
import time

FIRST, MOST = 0.05, 5.0
"""Seconds before the first retry, and the maximum before any retry."""


class Backoff:
    """Waits that double, each shortened by up to a half at random, so that many clients do not retry at once.

    After progress, or a long time without failure, they start over.
    """

    def __init__(self) -> None:
        self._tries, self._last = 0, 0.0
        self._well = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the last success, or since the beginning."""
        return time.monotonic() - self._well

    def well(self, *, progress: bool) -> None:
        """Record a success."""
        self._well = time.monotonic()
        if progress:
            self._tries = 0

    def next(self) -> float:
        """Return the seconds to wait now."""
        now = time.monotonic()
        if now - self._last > 2 * MOST:
            self._tries = 0
        longest = min(MOST, FIRST * 2.0 ** min(self._tries, 16))
        self._tries, self._last = self._tries + 1, now
        return longest * random.uniform(0.5, 1.0)
