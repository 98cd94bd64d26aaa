"""Long text, shortened in the middle. Pure."""

from __future__ import annotations

_NOTE = "\n[... {} characters left out ...]\n"


def clip(text: str, limit: int) -> str:
    """`text` when it has at most `limit` characters, else its head and tail, and between them how much is gone."""
    if len(text) <= limit:
        return text
    room = limit - len(_NOTE.format(len(text)))
    if room < 2:
        return text[:limit]
    head, tail = room // 2, room - room // 2
    return text[:head] + _NOTE.format(len(text) - room) + text[len(text) - tail :]


def whole_in(path: str, text: str) -> str:
    """What says where a text is that was clipped."""
    return (
        f"[all {len(text):,} characters, {text.count(chr(10)) + 1:,} lines, are in {path}: search that file, or read"
        " the lines that matter]"
    )
