"""`Beginnings`: finds an incomplete form at the end of data. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from .lines import LONGEST_BREAK, joined_lines


class Beginnings:
    """Finds where in some data a form begins that is not complete yet."""

    def __init__(self, written: Iterable[bytes], encoded: Iterable[bytes]) -> None:
        self._written, self._encoded = _Forms(written), _Forms(encoded)

    def place(self, data: bytes) -> int:
        """Return the first such place; the length of `data` if there is none."""
        before = max(0, len(data) - (LONGEST_BREAK + 1) * self._encoded.longest)
        joined, places = joined_lines(data[before:])
        broken = self._encoded.place(joined)
        return min(self._written.place(data), before + places.of(broken) if broken < len(joined) else len(data))


class _Forms:
    """Forms, indexed by their first two bytes."""

    def __init__(self, forms: Iterable[bytes]) -> None:
        self.longest, self._by_start = 0, defaultdict[bytes, list[bytes]](list)
        self._firsts: set[bytes] = set()
        for form in forms:
            self.longest = max(self.longest, len(form))
            if len(form) > 1:
                self._by_start[form[:2]].append(form)
                self._firsts.add(form[:1])
        self._starts = re.compile(b"(?=%b)" % b"|".join(map(re.escape, self._by_start)) if self._by_start else b"(?!)")

    def place(self, data: bytes) -> int:
        """Return the first place from which the rest of `data` is an incomplete form; the length of `data` if none."""
        for match in self._starts.finditer(data, max(0, len(data) - self.longest + 1)):
            place = match.start()
            for form in self._by_start[data[place : place + 2]]:
                if len(form) > len(data) - place and form.startswith(data[place:]):
                    return place
        return len(data) - 1 if data[-1:] in self._firsts else len(data)
