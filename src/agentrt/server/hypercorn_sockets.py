"""`adapt`: a socket as Hypercorn serves it, without compression and with a `Wire`, which Hypercorn has no setting for.

This is the one reach into objects of Hypercorn that are not its interface. It is written for the versions that
`pyproject.toml` allows. Where something is not as it is there, or another server serves, a socket is left to ASGI:
slower, and compressed where its client asks for it.
"""

from __future__ import annotations

from asyncio import StreamWriter, WriteTransport

from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.ws_stream import ASGIWebsocketState, Handshake, WSStream
from starlette.types import Scope, Send
from wsproto.connection import Connection, ConnectionState

from .streams.wire import WIRE


class HypercornWire:
    """The `Wire` of a socket on HTTP/1.1."""

    __slots__ = ("_stream", "_transport")

    def __init__(self, stream: WSStream, transport: WriteTransport) -> None:
        self._stream, self._transport = stream, transport

    @property
    def free(self) -> bool:
        """Whether neither end has closed it, and the kernel has taken all that was written before."""
        stream, transport = self._stream, self._transport
        if stream.state is not ASGIWebsocketState.CONNECTED or stream.closed:
            return False
        peer = getattr(stream, "connection", None)
        accepted = isinstance(peer, Connection) and peer.state is ConnectionState.OPEN
        return accepted and not (transport.is_closing() or transport.get_write_buffer_size())

    def write(self, message: bytes) -> None:
        """Write a message."""
        self._transport.write(message)


def adapt(scope: Scope, send: Send) -> None:
    """Decline the compression (RFC 7692) of a socket, and give its scope a `Wire`; nothing where that cannot be.

    Compression would cost each socket 300 KB, and each message an encoding of its own.
    """
    stream = getattr(send, "__self__", None)
    if not isinstance(stream, WSStream):
        return
    if isinstance(getattr(stream, "handshake", None), Handshake):
        stream.handshake.extensions = None
    if (transport := _transport_of(stream)) is not None:
        scope.setdefault("extensions", {})[WIRE] = HypercornWire(stream, transport)


def _transport_of(stream: WSStream) -> WriteTransport | None:
    """Where a stream's bytes go; None where they are not a connection's only ones, or not where they are looked for."""
    protocol = getattr(getattr(stream, "send", None), "__self__", None)
    server = getattr(getattr(protocol, "send", None), "__self__", None)
    writer = getattr(server, "writer", None)
    if isinstance(protocol, H11Protocol) and isinstance(writer, StreamWriter) and hasattr(stream, "closed"):
        return writer.transport
    return None
