"""`Budget`: how much text the expansions of one rating may make, and how much work the rating may take. Pure.

A shell command of n characters may stand for a text of 2**n characters: `a=xx; b=$a$a; c=$b$b`. So a rating counts what
it makes, before it makes it, and ends with UNKNOWN when that is too much. Its time and memory are linear in its text.
"""

from __future__ import annotations

MAX_EXPANDED = 64 * 1024
"""Maximum number of characters that variables, substitutions and replacements add to the text of one action."""

ROOM = 64 * 1024
"""Units of work that a rating of any text may take."""

WORK = 24
"""Further units of work for each character of the text; reading the text once takes one for each."""

MAX_FILES = 1024 * 1024
"""Maximum number of characters in files that add to the work that a rating may take."""

AT_ONCE = 8 * 1024
"""Units of work that a rating on the event loop may take, about 10 ms. One that needs more begins anew in a thread."""


class TooDeep(Exception):
    """Raised for source that is nested deeper than a rating follows."""


class TooMuch(Exception):
    """Raised for source that is too much to be read or walked in time, or that expands to too much."""


class NotAtOnce(Exception):
    """Raised for an action whose rating would hold up the event loop: rate it in a thread."""


class Budget:
    """What one rating may still take. `given` is the length of the action's text, in characters.

    With `at_once`, the rating runs on the event loop: `NotAtOnce` ends it as soon as it takes more than `AT_ONCE`.
    """

    __slots__ = ("_files", "_unfinished", "expansion", "work")

    def __init__(self, given: int, *, at_once: bool = False) -> None:
        self.expansion = MAX_EXPANDED
        self.work = AT_ONCE if at_once else ROOM + WORK * given
        """The units that are left. Code that runs often subtracts here, and leaves the check to the next `spend`."""
        self._files = 0 if at_once else MAX_FILES
        self._unfinished: type[Exception] = NotAtOnce if at_once else TooMuch

    def spend(self, units: int) -> None:
        """Count work before it is done. Raises `TooMuch` or `NotAtOnce`."""
        self.work -= units
        if self.work < 0:
            raise self._unfinished

    def expand(self, characters: int) -> None:
        """Count characters that the text does not have before they are made. Raises `TooMuch` or `NotAtOnce`."""
        self.expansion -= characters
        self.work -= characters
        if self.expansion < 0 or self.work < 0:
            raise self._unfinished

    def admit(self, text: str) -> None:
        """Add the work that the text of a file may take, which `given` does not count."""
        characters = min(len(text), self._files)
        self._files -= characters
        self.work += WORK * characters

    def replace(self, text: str, old: str, new: str, count: int = -1) -> str:
        """Return `text.replace(old, new, count)`. Raises `TooMuch` or `NotAtOnce` before it grows too long."""
        found = text.count(old) if count < 0 else min(count, text.count(old))
        self.spend(len(text))
        self.expand(max(found * (len(new) - len(old)), 0))
        return text.replace(old, new, count)
