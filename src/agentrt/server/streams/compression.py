"""Compression of sockets (RFC 7692) is declined: it would cost each 300 KB, and each message an encoding of its own."""

from __future__ import annotations

from hypercorn.protocol.ws_stream import WSStream
from starlette.types import Send


def decline_compression(send: Send) -> None:
    """Have a socket accepted as if its client had not offered compression, for which Hypercorn has no setting."""
    stream = getattr(send, "__self__", None)
    if isinstance(stream, WSStream):
        stream.handshake.extensions = None
