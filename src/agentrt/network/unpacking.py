"""`Unpacking`: decompresses a body in pieces of bounded size, however strongly it is compressed. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

PIECE = 64 << 10
"""Maximum bytes of one piece."""

ACCEPTED = "gzip, deflate"
"""The content codings that a server may use; no others are unpacked (RFC 9110, 8.4.1)."""

_GZIP, _ZLIB, _BARE = 31, 15, -15
_WINDOWS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}


class Unpacking:
    """Unpacks a body by its content coding; "" and "identity" leave it as it is. Raises `ValueError` for others."""

    def __init__(self, coding: str) -> None:
        name = coding.strip().lower()
        self._window = 0 if name in ("", "identity") else _WINDOWS.get(name)
        if self._window is None:
            raise ValueError(f"the encoding {coding!r} was not asked for")
        self._inner = zlib.decompressobj(self._window) if self._window else None
        self._first = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the unpacked pieces of some more bytes. Raises `ValueError` if they are damaged."""
        if self._inner is None:
            yield data
            return
        while data:
            try:
                piece = self._inner.decompress(data, PIECE)
            except zlib.error as error:
                if not self._first or self._window != _ZLIB:
                    raise ValueError(f"the body is damaged: {error}") from error
                self._inner, self._first = zlib.decompressobj(_BARE), False  # many servers send raw data as "deflate"
                continue
            self._first = False
            yield piece
            data = self._inner.unconsumed_tail
            if self._inner.eof:
                data = self._inner.unused_data
                if self._window != _GZIP or not data.strip(b"\0"):
                    return
                self._inner = zlib.decompressobj(_GZIP)  # gzip data may be several members in a row
