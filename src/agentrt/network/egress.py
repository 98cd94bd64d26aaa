"""`Egress`: a proxy on loopback through which another program reaches only the addresses that a `Guard` allows.

A browser looks names up and follows redirects by itself. With this proxy as its only way out, each connection is
checked and goes to the address that was checked. HTTPS and WebSockets come as tunnels (RFC 9110, 9.3.6), plain HTTP as
requests with absolute URLs (RFC 9112, 3.2.2), each on a connection of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteReceiveStream, SocketStream, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from .addresses import PORTS, AddressRefused, Guard, HostUnknown

MOST_HEAD = 64 << 10
"""Maximum bytes of a request's head."""

MOST_BYTES = 256 << 20
"""Maximum bytes that a server may send over one connection; a longer page or download is cut."""

HEAD_SECONDS = 30.0
CONNECT_SECONDS = 15.0
MOST_CONNECTIONS = 256

_PIECE = 1 << 16
_HOP = ("proxy-connection:", "connection:", "proxy-authorization:", "keep-alive:")


class _Asked(NamedTuple):
    host: str
    port: int
    head: bytes
    """The head that is sent on to the server; empty for a tunnel."""


class Egress:
    """A proxy that serves until its task group ends. `guard` may be changed at any time."""

    def __init__(self, guard: Guard, most_bytes: int = MOST_BYTES) -> None:
        self.guard, self._most = guard, most_bytes
        self._limit = anyio.CapacityLimiter(MOST_CONNECTIONS)
        self.refused: dict[str, str] = {}
        """By host and port: why the last connection was refused or cut, or could not be made."""
        self.port = 0

    async def serve(self, tasks: TaskGroup) -> None:
        """Begin to listen."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self.port = listener.extra(anyio.abc.SocketAttribute.local_port)

        async def serve() -> None:
            async with listener:
                await listener.serve(self._connection)

        tasks.start_soon(serve)

    async def _connection(self, client: SocketStream) -> None:
        async with client, self._limit:
            with contextlib.suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._exchange(client)

    async def _exchange(self, client: SocketStream) -> None:
        buffered = BufferedByteReceiveStream(client)
        try:
            with anyio.fail_after(HEAD_SECONDS):
                head = await buffered.receive_until(b"\r\n\r\n", MOST_HEAD)
            asked = _asked(head)
        except (TimeoutError, anyio.DelimiterNotFound, anyio.IncompleteRead, ValueError):
            await client.send(_answer(400, "this proxy does not understand that"))
            return
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                server = await self._connected(asked)
        except (AddressRefused, HostUnknown, OSError, TimeoutError) as error:
            why = str(error) or "no connection in time"
            self._note(asked, why)
            await client.send(_answer(403 if isinstance(error, AddressRefused) else 502, why))
            return
        async with server:
            await (server.send(asked.head) if asked.head else client.send(b"HTTP/1.1 200 Connected\r\n\r\n"))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_upwards, buffered, server)
                await self._downwards(server, client, asked)
                tasks.cancel_scope.cancel()

    async def _connected(self, asked: _Asked) -> SocketStream:
        addresses = await self.guard.addresses(asked.host, asked.port)
        failed: OSError | None = None
        for address in addresses:
            try:
                return await anyio.connect_tcp(address, asked.port)
            except OSError as error:
                failed = error
        raise failed or OSError("no address")

    async def _downwards(self, server: SocketStream, client: SocketStream, asked: _Asked) -> None:
        """Pass on what a server sends, until the stream ends or is too long."""
        count = 0
        with contextlib.suppress(anyio.EndOfStream):
            while True:
                piece = await server.receive(_PIECE)
                count += len(piece)
                if count > self._most:
                    self._note(asked, f"it sent more than {self._most >> 20} MiB over one connection")
                    return
                await client.send(piece)

    def _note(self, asked: _Asked, why: str) -> None:
        while len(self.refused) > MOST_CONNECTIONS:
            del self.refused[next(iter(self.refused))]
        self.refused[f"{asked.host}:{asked.port}"] = why


@asynccontextmanager
async def egress(guard: Guard, most_bytes: int = MOST_BYTES) -> AsyncIterator[Egress]:
    """Run a proxy while the body runs. An error of the body is raised as it is, not in an exception group."""
    proxy, raised = Egress(guard, most_bytes), list[Exception]()
    async with anyio.create_task_group() as tasks:
        await proxy.serve(tasks)
        try:
            yield proxy
        except Exception as error:  # raised again below
            raised.append(error)
        tasks.cancel_scope.cancel()
    if raised:
        raise raised[0]


async def _upwards(client: ByteReceiveStream, server: SocketStream) -> None:
    """Pass on what the client sends, and then the end of its stream."""
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        with contextlib.suppress(anyio.EndOfStream):
            while True:
                await server.send(await client.receive(_PIECE))
        await server.send_eof()


def _asked(head: bytes) -> _Asked:
    """Parse the head of a request. Raises `ValueError`."""
    first, *fields = head.removesuffix(b"\r\n\r\n").decode("latin-1").split("\r\n")
    method, target, version = first.split(" ")
    if method == "CONNECT":
        parts = urlsplit(f"//{target}")
        if not parts.hostname or parts.port is None:
            raise ValueError(target)
        return _Asked(parts.hostname, parts.port, b"")
    parts = urlsplit(target)
    if parts.scheme not in ("http", "ws") or not parts.hostname:
        raise ValueError(target)
    path = parts.path + (f"?{parts.query}" if parts.query else "") or "/"
    upgrades = any(field.lower().startswith("upgrade:") for field in fields)
    kept = [field for field in fields if upgrades or not field.lower().startswith(_HOP)]
    if not upgrades:
        kept.append("Connection: close")
    lines = [f"{method} {path} {version}", *kept]
    return _Asked(parts.hostname, parts.port or PORTS["http"], "\r\n".join([*lines, "", ""]).encode("latin-1"))


def _answer(status: int, why: str) -> bytes:
    body = f"{why}\n".encode()
    head = f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}"
    return f"{head}\r\nConnection: close\r\n\r\n".encode() + body
