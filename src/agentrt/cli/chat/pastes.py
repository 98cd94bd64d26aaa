"""`Pastes`: long pasted texts, each shown as a short mark until it is sent. Pure."""

from __future__ import annotations

import re

LINES = 10
"""Maximum number of lines of a paste that is shown in full."""

CHARACTERS = 2_000
"""Maximum number of characters of a paste that is shown in full."""

_MARK = re.compile(r"\[pasted [\d,]+ (?:line|character)s(?: #\d+)?\]")


class Pastes:
    """The pasted texts of one prompt, by their marks."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def folded(self, pasted: str) -> str:
        """Return what the prompt shows for a pasted text: the text itself if it is short, else its mark."""
        text = pasted.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.removesuffix("\n").count("\n") + 1
        if lines <= LINES and len(text) <= CHARACTERS:
            return text
        size = f"{lines:,} lines" if lines > LINES else f"{len(text):,} characters"
        mark, number = f"[pasted {size}]", 1
        while self._texts.get(mark, text) != text:
            number += 1
            mark = f"[pasted {size} #{number}]"
        self._texts[mark] = text
        return mark

    def unfolded(self, typed: str) -> str:
        """Return what was typed, with the pasted texts in place of their marks."""
        return _MARK.sub(lambda mark: self._texts.get(mark[0], mark[0]), typed)
