"""Server-sent events, taken apart as bytes come. Pure. Source: the HTML standard, 9.2.6."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 64 << 20
"""Bytes of an event; a stream with a longer one is given up."""

_BOM = b"\xef\xbb\xbf"


class ServerSentEvents:
    """Gives the data of each event, however the bytes are split; comments, ids and names of events are passed over.

    The formats that are read here have the name of an event in its data as well.
    """

    __slots__ = ("_begun", "_data", "_held", "_size")

    def __init__(self) -> None:
        self._held = b""
        """What came of a line so far."""
        self._data: list[bytes] = []
        self._size, self._begun = 0, False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The events that end in a piece of the stream. Raises `ValueError` for one that is too long."""
        buffer, rest = self._held + piece, b""
        if b"\r" in buffer:
            if buffer[-1] == 13:  # the other half of a line's end may follow
                buffer, rest = buffer[:-1], b"\r"
            buffer = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = buffer.split(b"\n")
        self._held = lines.pop() + rest
        self._size += len(piece)
        if self._size > LONGEST:
            raise ValueError(f"an event has more than {LONGEST >> 20} MiB")
        for line in lines:
            if not self._begun:
                line, self._begun = line.removeprefix(_BOM), True
            if line[:5] == b"data:":
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and self._data:
                data, self._data, self._size = self._data, [], 0
                yield data[0] if len(data) == 1 else b"\n".join(data)

    def end(self) -> Iterator[bytes]:
        """The stream has ended: an event that no empty line ended, which some servers leave out."""
        return self.feed(b"\n\n")
