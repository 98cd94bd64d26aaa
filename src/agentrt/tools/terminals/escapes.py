"""Escape sequences of terminals (ECMA-48): taken out of what is printed, whole or piece by piece. Pure."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]|\x1b[0-?@-Z\\^-~]"
)
_BEGUN = re.compile(r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*\x1b?|\x1b[ -/]*)\Z")
_TO_THE_START = re.compile(r"\x1b\[(?:2K|[01]?G)")
"""Clears the line (EL), or goes to its first column (CHA)."""
_LONGEST = 4096
"""Characters after which what began like an escape is none."""


def without_escapes(text: str) -> str:
    """A text without escapes; one that begins the line anew is a carriage return."""
    return (
        _ESCAPE.sub("", _TO_THE_START.sub("\r", text)) if "\x1b" in text or "\x9b" in text or "\x9d" in text else text
    )


class Unescaping:
    """Takes escapes out of a text that comes in pieces: a secret that is coloured in its middle is one in the log."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far is new and plain; the beginning of an escape is held back."""
        text = without_escapes(self._held + piece)
        begun = _BEGUN.search(text, max(len(text) - _LONGEST, 0))
        place = begun.start() if begun is not None else len(text)
        self._held = text[place:]
        return text[:place]

    def flush(self) -> str:
        """The text has ended: what was held back is no escape."""
        held, self._held = self._held, ""
        return held
