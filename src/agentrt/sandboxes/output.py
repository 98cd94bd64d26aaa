"""`Output`: the bytes that a command prints, bounded. Pure."""

from __future__ import annotations

KEPT = 16 * 1024 * 1024
"""Bytes of output kept of one command: its first and its last half."""


class Output:
    """The bytes of a command: all of them up to `KEPT`, then the first and the last half."""

    def __init__(self) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take more output."""
        room = KEPT // 2 - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        over = len(self._tail) - KEPT // 2
        if over > KEPT // 4:
            del self._tail[:over]
            self._dropped += over

    def text(self) -> str:
        """What was kept, with a note in the place of what was not."""
        gap = f"\n[{self._dropped} bytes were not kept]\n".encode() if self._dropped else b""
        return bytes(self._head + gap + self._tail).decode(errors="replace").replace("\r\n", "\n")
