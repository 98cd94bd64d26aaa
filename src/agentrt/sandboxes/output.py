"""`Output`: the bytes that a command prints, bounded. Pure."""

from __future__ import annotations

KEPT = 16 * 1024 * 1024
"""Bytes of output kept of one command: its first and its last half."""


class Output:
    """The bytes of a command since they were taken last: all of them up to `KEPT`, then the first and the last half."""

    def __init__(self) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._dropped = 0

    def __len__(self) -> int:
        """How many bytes are held."""
        return len(self._head) + len(self._tail)

    def add(self, data: bytes) -> None:
        """Take more output."""
        room = KEPT // 2 - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        over = len(self._tail) - KEPT // 2
        if over > KEPT // 4:
            del self._tail[:over]
            self._dropped += over

    def take(self) -> bytes:
        """What is held, with a note in the place of what was not kept; then nothing is."""
        gap = f"\n[{self._dropped} bytes were not kept]\n".encode() if self._dropped else b""
        taken = bytes(self._head + gap + self._tail)
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0
        return taken
