"""`Printed`: a command's output as a model sees it, in the new pieces of each call. Pure."""

from __future__ import annotations

import codecs

from ...protocols import Masking
from .escapes import Unescaping


class Printed:
    """Output bytes as text without escapes or secrets, and with lines in their last state.

    An incomplete character or escape, or a possible beginning of a secret, is held back for the next call.
    """

    def __init__(self, masking: Masking) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._plain, self._masking = Unescaping(), masking

    def more(self, data: bytes, *, last: bool) -> str:
        """Return the text of the next bytes. With the `last` ones nothing is held back."""
        text = self._plain.feed(self._decoder.decode(data, last))
        shown = self._masking.feed(last_states(text + self._plain.flush() if last else text))
        return shown + self._masking.flush() if last else shown


def last_states(text: str) -> str:
    """Return the text with each line in its last state, in linear time: lines may be overwritten, as by a progress bar.

    Text after a carriage return replaces the whole line: programs seldom overwrite a longer line without clearing it,
    and the escapes that clear it are already removed (`escapes.py`). A backspace removes one character.
    """
    if "\r" not in text and "\b" not in text:
        return text
    return "\n".join(_last(line) if "\r" in line or "\b" in line else line for line in text.split("\n"))


def _last(line: str) -> str:
    state = next((state for state in reversed(line.split("\r")) if state.strip("\b")), "")
    return _taken_back(state) if "\b" in state else state


def _taken_back(state: str) -> str:
    left: list[str] = []
    for character in state.rstrip("\b"):  # trailing backspaces only move the cursor
        if character != "\b":
            left.append(character)
        elif left:
            left.pop()
    return "".join(left)
