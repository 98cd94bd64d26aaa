"""`Pastes`: long pasted texts, each shown as a short mark until it is sent, and again from the history. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
        return unfolded(typed, self._texts)

    def pasted_in(self, typed: str) -> dict[str, str]:
        """Return the pasted texts in what was typed, by their marks."""
        return {mark: self._texts[mark] for mark in _MARK.findall(typed) if mark in self._texts}

    def folded_again(self, typed: str, pasted: Mapping[str, str]) -> str:
        """Return what was typed in another prompt, with `pasted` texts, as this prompt shows it."""
        return _MARK.sub(lambda mark: self.folded(pasted[mark[0]]) if mark[0] in pasted else mark[0], typed)


def unfolded(typed: str, pasted: Mapping[str, str]) -> str:
    """Return what was typed, with the pasted texts in place of their marks."""
    return _MARK.sub(lambda mark: pasted.get(mark[0], mark[0]), typed)
