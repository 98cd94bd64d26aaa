"""`Arriving`: an answer of a provider as it arrives, passed to its `Reader`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from .wires import Reader, ServerSentEvents

_LATER = 1 / 16
"""Fraction of the patience by which silence may be noticed late, to avoid setting the timer anew for each piece."""

_LONGEST_ERROR = 1 << 20
"""Maximum number of bytes read of an error answer."""

_LONGEST_ANSWER = 256 << 20
"""Maximum number of bytes of an answer; a longer answer is aborted."""

_FOR_AN_ERROR = 2.0
"""Seconds to wait for the text of an error after its status."""

_AFTER_THE_END = 10.0
"""Seconds to wait after the end of an answer for its usage and the end of the stream."""

_FOR_THE_REST = 0.05
"""Seconds to wait for the last bytes of a stream, which have usually arrived, so that its connection is used again."""

_BLANK = b" \t\r\n\xef\xbb\xbf"
"""Bytes that may come before an answer: blanks, ends of lines and a byte order mark."""

_NO_STREAM = (b"{", b"[", b"<")
"""The first bytes of JSON and of proxies' pages, which are not streams."""


class Arriving:
    """A `Receiver` that reads a stream until its format ends it, and any other answer completely.

    The first byte tells them apart, because not all servers state the type. `alarm` goes off if a stream is silent for
    `patience` seconds. The methods raise what the reader raises, and `ValueError` for an answer that is too long.
    """

    def __init__(self, reader: Reader, alarm: asyncio.Timeout, patience: float) -> None:
        self._reader, self._alarm, self._patience = reader, alarm, patience
        self._clock = asyncio.get_running_loop().time
        self._events = ServerSentEvents()
        self._whole = bytearray()
        self._size, self._due = 0, 0.0
        self._streamed: bool | None = None
        self._over = False
        self.status = 0
        self.reason = ""
        self.headers: Mapping[str, str] = {}

    @property
    def refused(self) -> bytes | None:
        """The text of an error answer; None for any other."""
        return bytes(self._whole.lstrip(_BLANK)) if self.status >= 300 else None

    def begin(self, status: int, reason: str, headers: Mapping[str, str]) -> float | None:
        """Take the status and the headers."""
        self.status, self.reason, self.headers = status, reason, headers
        return self._rest(_FOR_AN_ERROR) if status >= 300 else None

    def take(self, piece: bytes) -> float | None:
        """Take the next bytes."""
        self._size += len(piece)
        if self.status >= 300:
            self._whole += piece
            return 0.0 if self._size > _LONGEST_ERROR else None
        if self._size > _LONGEST_ANSWER:
            raise ValueError("it has no end")
        if self._streamed is None and (begun := piece.lstrip(_BLANK)):
            self._streamed = begun[:1] not in _NO_STREAM
        if self._streamed:
            return self._stream(piece)
        self._whole += piece
        return None

    def end(self) -> None:
        """Give the reader the rest: no more bytes come."""
        if self.status >= 300:
            return
        if not self._streamed:
            self._reader.whole(bytes(self._whole.lstrip(_BLANK)))
        elif not self._over:
            for data in self._events.end():
                if self._reader.take(data):
                    return

    def _stream(self, piece: bytes) -> float | None:
        if self._over:
            return None
        for data in self._events.feed(piece):
            if self._reader.take(data):
                self._over = True
                return self._rest(_FOR_THE_REST)
        if self._reader.ended:  # later pieces must not delay the end
            return self._rest(min(self._patience, _AFTER_THE_END))
        if (now := self._clock()) >= self._due:
            self._due = now + self._patience * _LATER
            self._alarm.reschedule(self._due + self._patience)
        return None

    def _rest(self, seconds: float) -> float:
        self._alarm.reschedule(None)
        return seconds
