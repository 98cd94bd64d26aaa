"""The frames that a link consists of, both ways. It needs nothing but Python 3.9: its source is sent to other machines.

A frame is a channel, a kind and a length, then as many bytes. Channel 0 has requests and answers, as JSON with an "id";
each other channel is a pipe: `DATA` (none is its end), `MORE` (its reader took so many bytes) and `CLOSED` (nobody
reads on, or nobody writes on).
"""

from __future__ import annotations

import struct

HEAD = struct.Struct(">IBI")
"""The channel, the kind and the length."""

MESSAGE, DATA, MORE, CLOSED = range(4)

PIECE = 32_768
"""Maximum bytes of a frame with data."""

WINDOW = 262_144
"""Bytes of a channel that may be on their way, before its reader has taken some."""

MOST = 64 << 20
"""Maximum bytes of a message."""

READY = b"\x1eagentrt is ready\x1f"
"""Printed before the first frame. What a login prints comes before it."""


def frame(channel: int, kind: int, data: bytes = b"") -> bytes:
    """Return a frame as bytes."""
    return HEAD.pack(channel, kind, len(data)) + data


def count(data: bytes) -> int:
    """Return the number in a frame of the kind `MORE`."""
    return int.from_bytes(data, "big")


def more(channel: int, taken: int) -> bytes:
    """Return the frame that tells that so many bytes of a channel were taken."""
    return frame(channel, MORE, taken.to_bytes(4, "big"))
