"""Long text, shortened in the middle. Pure."""

from __future__ import annotations

_NOTE = "\n[... {} characters left out ...]\n"


def clip(text: str, limit: int) -> str:
    """Return `text` if it has at most `limit` characters, else its head and tail with a note of how much is left out
    between them.
    """
    if len(text) <= limit:
        return text
    room = limit - len(_NOTE.format(len(text)))
    if room < 2:
        return text[:limit]
    head, tail = room // 2, room - room // 2
    return text[:head] + _NOTE.format(len(text) - room) + text[len(text) - tail :]
