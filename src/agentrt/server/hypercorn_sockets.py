"""`adapt`: gives a Hypercorn WebSocket a `Wire`, no compression, and limits. Hypercorn has no settings for this.

This uses Hypercorn's internal objects, those of the versions that `pyproject.toml` allows, as `connections` does. If
they are not as expected, or another server is used, the socket is served through ASGI: slower, and compressed if its
client asks for that.
"""

from __future__ import annotations

import asyncio
from asyncio import StreamWriter, WriteTransport
from typing import Any

from hypercorn.protocol.events import Body, Data, Event
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.ws_stream import ASGIWebsocketState, FrameTooLargeError, Handshake, WebsocketBuffer, WSStream
from starlette.types import Scope, Send
from wsproto.connection import Connection, ConnectionState
from wsproto.events import Message

from .streams.wire import WIRE

FRAGMENTS = 1024
"""Maximum number of fragments of a message (RFC 6455, 5.4). A client that sends more is closed with 1009."""

PIECE = 2048
"""Bytes that are read before others have a turn: each frame of a few bytes takes as long as a large one."""


class Fragments(WebsocketBuffer):
    """Hypercorn's buffer for a message, with a limit of its fragments; `refused` once a message had more, or was too
    long.
    """

    def __init__(self, max_length: int) -> None:
        super().__init__(max_length)
        self.count, self.refused = 0, False

    def extend(self, event: Message[Any]) -> None:
        """Add a part of a message. Raises `FrameTooLargeError`."""
        self.count = 0 if event.message_finished else self.count + event.frame_finished
        try:
            if self.count >= FRAGMENTS:
                raise FrameTooLargeError
            super().extend(event)
        except FrameTooLargeError:
            self.refused = True
            raise


class PacedSocket:
    """Reads what a client sends in pieces, with a round of the event loop after each. After a refused message nothing
    is read any more: the client was told to close.
    """

    __slots__ = ("_buffer", "_stream")

    def __init__(self, stream: WSStream, buffer: Fragments) -> None:
        self._stream, self._buffer = stream, buffer

    async def handle(self, event: Event) -> None:
        """Handle an event of the connection."""
        if not isinstance(event, Body | Data):
            await WSStream.handle(self._stream, event)
            return
        data = event.data
        for begin in range(0, len(data), PIECE):
            if begin:
                await asyncio.sleep(0)
            if not self._buffer.refused:
                piece = Data(stream_id=event.stream_id, data=data[begin : begin + PIECE])
                await WSStream.handle(self._stream, piece)


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
    """Decline compression (RFC 7692) for a socket, limit what its client may send at once, and give its scope a `Wire`;
    do nothing if that is not possible.

    Compression takes 300 KB for each socket, and each socket would need its own encoding of a message.
    """
    stream = getattr(send, "__self__", None)
    if not isinstance(stream, WSStream):
        return
    if isinstance(getattr(stream, "handshake", None), Handshake):
        stream.handshake.extensions = None
    if isinstance(getattr(stream, "buffer", None), WebsocketBuffer):
        stream.buffer = buffer = Fragments(stream.buffer.max_length)
        stream.handle = PacedSocket(stream, buffer).handle  # type: ignore[method-assign]
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
