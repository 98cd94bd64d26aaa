"""`relayed`: connections to a socket of this machine that are led on to a socket elsewhere."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from ..scratch import runtime_directory
from .connections import MOST_OPEN, Connections

_PIECE = 65_536

Connect = Callable[[], Awaitable[socket.socket]]
"""Returns a new connection to the other end. Raises `OSError` and `ToolError`."""


@asynccontextmanager
async def relayed(listening: socket.socket, connect: Connect) -> AsyncIterator[None]:
    """Lead each connection to a socket on to a connection of its own, until this is left; by any task.

    A connection that cannot be led on ends at once.
    """

    async def led(near: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far, far_writer = await asyncio.open_connection(sock=await connect())
        try:
            await asyncio.gather(_pass_on(near, far_writer), _pass_on(far, writer))
        finally:
            far_writer.close()

    connections = Connections(led)
    start = asyncio.start_unix_server if listening.family == socket.AF_UNIX else asyncio.start_server
    server = await start(connections.accept, sock=listening, backlog=MOST_OPEN)
    try:
        yield
    finally:
        server.close()
        await connections.drop()


@asynccontextmanager
async def relayed_port(connect: Connect) -> AsyncIterator[int]:
    """Provide a port on the loopback of this machine whose connections are led on."""
    listening = socket.create_server(("127.0.0.1", 0))
    async with relayed(listening, connect):
        yield int(listening.getsockname()[1])


@asynccontextmanager
async def relayed_sockets(connects: Mapping[str, Connect]) -> AsyncIterator[str]:
    """Provide a private directory with a socket for each name, whose connections are led on."""
    async with runtime_directory.temporary("sockets-") as near, AsyncExitStack() as relays:
        for name, connect in connects.items():
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(f"{near}/{name}")
            await relays.enter_async_context(relayed(listening, connect))
        yield near


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_PIECE):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()
