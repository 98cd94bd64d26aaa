"""`Wire`: a socket's connection, where Hypercorn serves it, for what Hypercorn has no setting or call for."""

from __future__ import annotations

from asyncio import WriteTransport

from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.ws_stream import ASGIWebsocketState, WSStream
from starlette.types import Scope, Send
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import TextMessage

WIRE = "agentrt.wire"
"""Where the extensions of a socket's scope have its `Wire`."""

_framer = Connection(ConnectionType.SERVER)
"""What a server sends is not masked and, without compression, the same for every client."""


class Wire:
    """A socket's connection: bytes can be written to it within a call, while there is nothing on it to wait for."""

    __slots__ = ("_stream", "_transport")

    def __init__(self, stream: WSStream, transport: WriteTransport) -> None:
        self._stream, self._transport = stream, transport

    @property
    def free(self) -> bool:
        """Whether neither end has closed it, and the kernel has taken all that was written before."""
        stream, transport = self._stream, self._transport
        accepted = stream.state is ASGIWebsocketState.CONNECTED and stream.connection.state is ConnectionState.OPEN
        return accepted and not (stream.closed or transport.is_closing() or transport.get_write_buffer_size())

    def write(self, message: bytes) -> None:
        """Write a message, as `framed` makes it."""
        self._transport.write(message)


def decline_compression(send: Send) -> None:
    """Have a socket accepted as if its client had not offered compression (RFC 7692).

    It would cost each socket 300 KB, and each message an encoding of its own.
    """
    if (stream := _stream_of(send)) is not None:
        stream.handshake.extensions = None


def lay_wire(scope: Scope, send: Send) -> None:
    """Give a socket's scope its wire, for `wire_of`."""
    stream = _stream_of(send)
    protocol = getattr(stream.send, "__self__", None) if stream is not None else None
    server = getattr(protocol.send, "__self__", None) if isinstance(protocol, H11Protocol) else None
    if stream is not None and isinstance(server, TCPServer):
        scope["extensions"][WIRE] = Wire(stream, server.writer.transport)


def wire_of(scope: Scope) -> Wire | None:
    """The wire of a socket; None where another server than Hypercorn serves it, or HTTP/2 carries it."""
    wire: Wire | None = scope.get("extensions", {}).get(WIRE)
    return wire


def _stream_of(send: Send) -> WSStream | None:
    stream = getattr(send, "__self__", None)
    return stream if isinstance(stream, WSStream) else None


def framed(text: str) -> bytes:
    """A message as it is on the wire (RFC 6455, section 5)."""
    return bytes(_framer.send(TextMessage(data=text)))
