"""`ServerSentEvents`: parses server-sent events as their bytes arrive. Pure. Source: the HTML standard, 9.2.6."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 64 << 20
"""Maximum number of bytes of an event; a stream with a longer one is aborted."""

_BOM = b"\xef\xbb\xbf"
_RETURN = 13


class ServerSentEvents:
    """A parser that yields the data of each event, however the bytes are split. It skips comments, ids and event names.

    The formats that are read here repeat an event's name in its data. Each byte is looked at once, so a long event in
    small pieces costs no more per byte than a short one.
    """

    __slots__ = ("_begun", "_data", "_line", "_returned", "_size")

    def __init__(self) -> None:
        self._line = bytearray()
        """The beginning of a line whose end has not arrived."""
        self._data: list[bytes] = []
        self._size, self._begun, self._returned = 0, False, False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the events that end in a piece of the stream. Raises `ValueError` for one that is too long."""
        if not piece:
            return
        if self._returned and piece[0] == 10:  # of CR LF, whose CR has already ended the line
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
        """Yield the last event at the end of the stream: some servers leave out the empty line after it."""
        return self.feed(b"\n\n")

    def _ended(self, line: bytes) -> Iterator[bytes]:
        """Take a line; yield the event that it ends."""
        if not self._begun:
            line, self._begun = line.removeprefix(_BOM), True
        if line[:5] == b"data:":
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif not line:
            data, self._data, self._size = self._data, [], 0
            if data:
                yield data[0] if len(data) == 1 else b"\n".join(data)
