"""Lines that were written over, as a progress bar does: only their last state is kept. Pure.

A carriage return begins the line anew, and what follows takes the place of the whole line: what overwrites a longer
line without clearing it is rare, and the escape that clears is gone before (`escapes.py`). A backspace takes one
character back.
"""

from __future__ import annotations


def last_states(text: str) -> str:
    """The text with each line as it was in the end; takes time in proportion to its length."""
    if "\r" not in text and "\b" not in text:
        return text
    return "\n".join(_last(line) if "\r" in line or "\b" in line else line for line in text.split("\n"))


def _last(line: str) -> str:
    state = next((state for state in reversed(line.split("\r")) if state.strip("\b")), "")
    return _taken_back(state) if "\b" in state else state


def _taken_back(state: str) -> str:
    left: list[str] = []
    for character in state.rstrip("\b"):  # the cursor stands further left, and nothing was written there
        if character != "\b":
            left.append(character)
        elif left:
            left.pop()
    return "".join(left)
