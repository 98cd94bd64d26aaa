"""`adapt`: gives a Hypercorn WebSocket a `Wire` and no compression. Hypercorn has no settings for this.

This is the only module that uses Hypercorn's internal objects, those of the versions that `pyproject.toml` allows. If
they are not as expected, or another server is used, the socket is served through ASGI: slower, and compressed if its
client asks for that.
"""

from __future__ import annotations

from asyncio import StreamWriter, WriteTransport

from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.ws_stream import ASGIWebsocketState, Handshake, WSStream
from starlette.types import Scope, Send
from wsproto.connection import Connection, ConnectionState

from .streams.wire import WIRE


class HypercornWire:
    """The `Wire` of a WebSocket on HTTP/1.1."""

    __slots__ = ("_stream", "_transport")

    def __init__(self, stream: WSStream, transport: WriteTransport) -> None:
        self._stream, self._transport = stream, transport

    @property
    def free(self) -> bool:
        """Whether the socket is open at both ends, and the kernel has taken everything written so far."""
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
    """Decline compression (RFC 7692) for a socket, and give its scope a `Wire`; do nothing if that is not possible.

    Compression takes 300 KB for each socket, and each socket would need its own encoding of a message.
    """
    stream = getattr(send, "__self__", None)
    if not isinstance(stream, WSStream):
        return
    if isinstance(getattr(stream, "handshake", None), Handshake):
        stream.handshake.extensions = None
    if (transport := _transport_of(stream)) is not None:
        scope.setdefault("extensions", {})[WIRE] = HypercornWire(stream, transport)


def _transport_of(stream: WSStream) -> WriteTransport | None:
    """Return a stream's transport; None if its connection may have other streams, or Hypercorn is not as expected."""
    protocol = getattr(getattr(stream, "send", None), "__self__", None)
    server = getattr(getattr(protocol, "send", None), "__self__", None)
    writer = getattr(server, "writer", None)
    if isinstance(protocol, H11Protocol) and isinstance(writer, StreamWriter) and hasattr(stream, "closed"):
        return writer.transport
    return None
