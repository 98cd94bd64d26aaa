"""`Sieve`: finds quickly which of many byte strings may be in some data. Pure.

It looks only at the groups of four bytes that begin at a multiple of 4. A string of 7 bytes or more contains one of
them, at one of four offsets. So a table of the groups at these offsets finds it, and one pass over the data is enough
for any number of strings.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from typing import Generic, TypeVar

Owner = TypeVar("Owner")

_STEP = 4
_SHORTEST = 2 * _STEP - 1

_AT_ONCE = 256 * 1024
"""Bytes that are searched at once: other threads can run only in between."""


class Sieve(Generic[Owner]):
    """Finds the owners of strings that may be in some data: all whose strings are there, and few others."""

    def __init__(self, strings: Iterable[tuple[bytes, Owner]]) -> None:
        self._short: list[tuple[bytes, Owner]] = []
        self._owners: defaultdict[int, set[Owner]] = defaultdict(set)
        for string, owner in strings:
            if len(string) < _SHORTEST:
                self._short.append((string, owner))
            else:
                for four in _fours(string):
                    self._owners[four].add(owner)
        self._fours = frozenset(self._owners)

    def owners(self, data: bytes | bytearray) -> set[Owner]:
        """Return the owners whose strings may be in `data`."""
        found = {owner for string, owner in self._short if string in data}
        if self._fours:
            whole = len(data) // _STEP * _STEP
            for begin in range(0, whole, _AT_ONCE):
                with memoryview(data) as view, view[begin : min(begin + _AT_ONCE, whole)].cast("I") as fours:
                    for four in self._fours.intersection(fours):
                        found |= self._owners[four]
        return found


def _fours(string: bytes) -> list[int]:
    """Return, as numbers, the groups of four bytes at four offsets in the middle of a string, where they are rarest."""
    begin = (len(string) - _SHORTEST) // 2
    return [int.from_bytes(string[at : at + _STEP], sys.byteorder) for at in range(begin, begin + _STEP)]
