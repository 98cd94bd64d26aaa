"""Server-sent events, taken apart as bytes come. Pure. Source: the HTML standard, 9.2.6."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 64 << 20
"""Bytes of an event; a stream with a longer one is given up."""

_BOM = b"\xef\xbb\xbf"
_RETURN = 13


class ServerSentEvents:
    """Gives the data of each event, however the bytes are split; comments, ids and names of events are passed over.

    The formats that are read here have the name of an event in its data as well. Each byte is looked at once, so a long
    event in small pieces costs no more than a short one.
    """

    __slots__ = ("_begun", "_data", "_line", "_returned", "_size")

    def __init__(self) -> None:
        self._line = bytearray()
        """What came of a line so far."""
        self._data: list[bytes] = []
        self._size, self._begun, self._returned = 0, False, False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The events that end in a piece of the stream. Raises `ValueError` for one that is too long."""
        if not piece:
            return
        if self._returned and piece[0] == 10:  # the other half of a line's end, which counted already
            piece = piece[1:]
            self._returned = False
            if not piece:
                return
        self._returned = piece[-1] == _RETURN
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._size += len(piece)
        if self._size > LONGEST:
            raise ValueError(f"an event has more than {LONGEST >> 20} MiB")
        first, *lines = piece.split(b"\n")
        self._line += first
        if not lines:
            return
        lines.insert(0, bytes(self._line))
        self._line = bytearray(lines.pop())
        for line in lines:
            yield from self._ended(line)

    def end(self) -> Iterator[bytes]:
        """The stream has ended: an event that no empty line ended, which some servers leave out."""
        return self.feed(b"\n\n")

    def _ended(self, line: bytes) -> Iterator[bytes]:
        """A line, and the event that it ends."""
        if not self._begun:
            line, self._begun = line.removeprefix(_BOM), True
        if line[:5] == b"data:":
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif not line:
            data, self._data, self._size = self._data, [], 0
            if data:
                yield data[0] if len(data) == 1 else b"\n".join(data)
