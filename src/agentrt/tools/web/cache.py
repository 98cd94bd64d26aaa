"""`Cache`: what was fetched a while ago, for one conversation."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Generic, TypeVar

from ...protocols import Clock

T = TypeVar("T")

FRESH = 15 * 60.0
"""Seconds for which what was fetched is used again."""

MOST = 32
ROOM = 32_000_000
"""What all entries may take together, in characters."""


class Cache(Generic[T]):
    """The newest entries, bounded by their count and by the room that each was said to take."""

    def __init__(self, clock: Clock = time.monotonic, *, most: int = MOST, room: int = ROOM) -> None:
        self._clock, self._most, self._room = clock, most, room
        self._entries: OrderedDict[str, tuple[float, int, T]] = OrderedDict()
        self._taken = 0

    def get(self, key: str) -> T | None:
        """What was put there less than `FRESH` seconds ago."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._clock() - entry[0] >= FRESH:
            self._remove(key)
            return None
        return entry[2]

    def put(self, key: str, value: T, room: int) -> None:
        """Keep a value in the place of the oldest ones; not one that alone takes more than there is."""
        self._remove(key)
        if room > self._room:
            return
        self._entries[key] = (self._clock(), room, value)
        self._taken += room
        while len(self._entries) > self._most or self._taken > self._room:
            self._remove(next(iter(self._entries)))

    def _remove(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        self._taken -= entry[1] if entry is not None else 0
