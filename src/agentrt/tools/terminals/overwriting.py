"""Keeps only the last state of lines that were overwritten, as by a progress bar. Pure.

Text after a carriage return replaces the whole line: programs seldom overwrite a longer line without clearing it, and
the escapes that clear it are already removed (`escapes.py`). A backspace removes one character.
"""

from __future__ import annotations


def last_states(text: str) -> str:
    """Return the text with each line in its last state, in linear time."""
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
