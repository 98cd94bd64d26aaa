"""`Output`: a bounded buffer of the bytes that a command prints. Pure."""

from __future__ import annotations

KEPT = 16 * 1024 * 1024
"""Bytes of a command's output that are kept: the first and the last half. The last one is trimmed once it is 50% over.
"""


class Output:
    """The output of a command since the last `take`: all of it up to `KEPT` bytes, else its beginning and its end."""

    def __init__(self) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._dropped = 0

    def __len__(self) -> int:
        """Return the number of bytes that are held."""
        return len(self._head) + len(self._tail)

    def add(self, data: bytes) -> None:
        """Add more output."""
        room = KEPT // 2 - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        over = len(self._tail) - KEPT // 2
        if over > KEPT // 4:
            del self._tail[:over]
            self._dropped += over

    def take(self) -> bytes:
        """Return and forget the output, with a note in place of the bytes that were dropped."""
        gap = f"\n[{self._dropped} bytes were not kept]\n".encode() if self._dropped else b""
        taken = bytes(self._head + gap + self._tail)
        self._head, self._tail, self._dropped = bytearray(), bytearray(), 0
        return taken
