"""Long text, shortened in the middle. Pure."""

from __future__ import annotations


def clip(text: str, limit: int) -> str:
    """`text` when it has at most `limit` characters, else its head and tail, and between them how much is gone."""
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text) - limit} characters left out ...]\n"
    head = max((limit - len(note)) // 2, 0)
    tail = max(limit - len(note) - head, 0)
    return text[:head] + note + text[len(text) - tail :]
