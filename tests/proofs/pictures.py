"""Pictures for the tests of what shows them."""

from __future__ import annotations

import struct
import zlib


def png(width: int, height: int, rows: bytes) -> bytes:
    """An image of 8 bits a colour (PNG, ISO 15948); `rows` begin with their filter, 0."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
