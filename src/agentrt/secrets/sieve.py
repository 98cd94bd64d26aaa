"""`Sieve`: says fast which of many byte strings may be in some data. Pure.

It looks at every fourth byte only. Whatever has 7 bytes or more covers four bytes that begin at a multiple of 4, at one
of four places in it, so that a table of these fours finds it; one pass over the data does for any number of strings.
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
"""Bytes that are looked through at once: a thread that does lets others run only in between."""


class Sieve(Generic[Owner]):
    """Finds the owners of strings that may be in some data: all whose string is there, and few others."""

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
        """Whose strings to look for in `data`."""
        found = {owner for string, owner in self._short if string in data}
        if self._fours:
            whole = len(data) // _STEP * _STEP
            for begin in range(0, whole, _AT_ONCE):
                with memoryview(data) as view, view[begin : min(begin + _AT_ONCE, whole)].cast("I") as fours:
                    for four in self._fours.intersection(fours):
                        found |= self._owners[four]
        return found


def _fours(string: bytes) -> list[int]:
    """As numbers the four bytes at four places in the middle of a string, where its words are least common."""
    begin = (len(string) - _SHORTEST) // 2
    return [int.from_bytes(string[at : at + _STEP], sys.byteorder) for at in range(begin, begin + _STEP)]
