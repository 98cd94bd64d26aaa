"""`Cache`: recently fetched values of one conversation."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Generic, TypeVar

from ...protocols import Clock

T = TypeVar("T")

FRESH = 15 * 60.0
"""Seconds for which an entry is used."""

MOST = 32
ROOM = 32_000_000
"""Maximum total size of all entries, in characters."""


class Cache(Generic[T]):
    """The newest entries, limited by their number and by the sum of the sizes that callers state."""

    def __init__(self, clock: Clock = time.monotonic, *, most: int = MOST, room: int = ROOM) -> None:
        self._clock, self._most, self._room = clock, most, room
        self._entries: OrderedDict[str, tuple[float, int, T]] = OrderedDict()
        self._taken = 0

    def get(self, key: str) -> T | None:
        """Return the value that was put there less than `FRESH` seconds ago, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._clock() - entry[0] >= FRESH:
            self._remove(key)
            return None
        return entry[2]

    def put(self, key: str, value: T, room: int) -> None:
        """Keep a value of size `room`, and drop the oldest ones if needed. A value above the limit is not kept."""
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
