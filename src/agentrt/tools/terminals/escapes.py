"""Removes terminal escape sequences (ECMA-48) from a text, whole or in pieces. Pure."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]|\x1b[0-?@-Z\\^-~]"
)
_BEGUN = re.compile(r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*\x1b?|\x1b[ -/]*)\Z")
_TO_THE_START = re.compile(r"\x1b\[(?:2K|[01]?G)")
"""Sequences that clear the line (EL) or go to its first column (CHA)."""
_LONGEST = 4096
"""Maximum characters of an incomplete escape; a longer one counts as text."""


def without_escapes(text: str) -> str:
    """Return a text without escapes. An escape that restarts the line becomes a carriage return."""
    return (
        _ESCAPE.sub("", _TO_THE_START.sub("\r", text)) if "\x1b" in text or "\x9b" in text or "\x9d" in text else text
    )


class Unescaping:
    """Removes escapes from a text that comes in pieces, so that a secret is recognized even if its colour changes."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return the new text without escapes. An incomplete escape at its end is held back."""
        text = without_escapes(self._held + piece)
        begun = _BEGUN.search(text, max(len(text) - _LONGEST, 0))
        place = begun.start() if begun is not None else len(text)
        self._held = text[place:]
        return text[:place]

    def flush(self) -> str:
        """Return what was held back: the text has ended, so it is no escape."""
        held, self._held = self._held, ""
        return held
