"""`serve_connections`: serves a socket with Hypercorn, but by default only HTTP/1.1, and never ambiguous requests. A
client that sends its body in tiny pieces does not hold up the others.

Hypercorn has no settings for this. It accepts HTTP/2 without TLS from any client, and requests that state their length
in two ways, of which a proxy in front of it may believe the other one.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import h11
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.utils import wrap_app
from starlette.types import ASGIApp

PIECES = 64
"""Number of pieces of a body after which others have a turn: a chunk of one byte takes as long as one of 64 KB."""


class PacedBody:
    """Passes what a client sends of a request on to its stream, with a round of the event loop now and then."""

    __slots__ = ("_count", "_stream")

    def __init__(self, stream: HTTPStream) -> None:
        self._stream, self._count = stream, 0

    async def handle(self, event: StreamEvent) -> None:
        """Handle an event of the request."""
        self._count += 1
        if self._count % PIECES == 0:
            await asyncio.sleep(0)
        await HTTPStream.handle(self._stream, event)


class Unambiguous(H11Protocol):
    """Hypercorn's HTTP/1.1, without requests that can be read in two ways."""

    async def _create_stream(self, request: h11.Request) -> None:
        if (status := _refusal(request)) is None:
            await super()._create_stream(request)
            if isinstance(self.stream, HTTPStream):
                self.stream.handle = PacedBody(self.stream).handle  # type: ignore[method-assign]
            return
        await self._send_error_response(status)
        await self.send(Closed())


class HTTP1(Unambiguous):
    """The same, without upgrades except to a WebSocket."""

    async def _check_protocol(self, event: h11.Request) -> None:
        """Ignore requests to upgrade to another protocol, as a server may (RFC 9110, 7.8)."""


def _refusal(request: h11.Request) -> int | None:
    """Return the status with which a request is refused and its connection closed, or None."""
    if request.http_version not in (b"1.0", b"1.1"):
        return 505
    names = {name.lower() for name, _ in request.headers}
    # RFC 9112, 6.1: a server ought to treat it as an error, and must close the connection
    return 400 if {b"content-length", b"transfer-encoding"} <= names else None


class Connection(TCPServer):
    """A connection that replaces the protocol that Hypercorn assigns by one of the classes above."""

    spoken: type[H11Protocol] = HTTP1

    @property
    def protocol(self) -> ProtocolWrapper:
        """The connection's protocol."""
        return self._wrapper

    @protocol.setter
    def protocol(self, wrapper: ProtocolWrapper) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        given = (wrapper.app, wrapper.config, wrapper.context, wrapper.task_group, wrapper.state)
        wrapper.protocol = self.spoken(*given, wrapper.ssl, wrapper.client, wrapper.server, wrapper.send)
        self._wrapper = wrapper

    async def protocol_send(self, event: Event) -> None:
        """Send what the protocol has to send. To Hypercorn, only a `ConnectionError` means that the client is gone; the
        kernel may also say that it has timed out or cannot be reached any more.
        """
        try:
            await super().protocol_send(event)
        except OSError:
            await self.protocol.handle(Closed())

    async def _close(self) -> None:
        with suppress(OSError):
            await super()._close()


class MayUpgrade(Connection):
    """A connection that may become HTTP/2."""

    spoken = Unambiguous


async def serve_connections(
    app: ASGIApp, listener: socket.socket, config: Config, stop: asyncio.Event, *, http2: bool = False
) -> None:
    """Serve until `stop`; then connections have `config.graceful_timeout` seconds to end. The listener is closed."""
    loop, context = asyncio.get_running_loop(), WorkerContext(None)
    kind = MayUpgrade if http2 else Connection
    wrapped: Any = wrap_app(app, config.wsgi_max_body_size, "asgi")  # type: ignore[arg-type]
    serving = set[asyncio.Task[Any]]()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        task.add_done_callback(serving.discard)
        await kind(wrapped, loop, config, context, {}, reader, writer)

    server = await asyncio.start_server(connected, sock=listener, backlog=config.backlog)
    try:
        await stop.wait()
    finally:
        await context.terminated.set()
        server.close()
        await server.wait_closed()
        if serving:
            await asyncio.wait(serving, timeout=config.graceful_timeout)
        left = list(serving)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
