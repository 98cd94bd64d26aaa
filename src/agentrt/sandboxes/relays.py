"""`relayed`: connections to a socket of this machine that are led on to a socket elsewhere."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from ..errors import ToolError

MOST_OPEN = 512
"""Maximum number of connections at once to one socket; more are closed."""

_PIECE = 65_536

Connect = Callable[[], Awaitable[socket.socket]]
"""Returns a new connection to the other end. Raises `OSError` and `ToolError`."""


@asynccontextmanager
async def relayed(listening: socket.socket, connect: Connect) -> AsyncIterator[None]:
    """Lead each connection to a socket on to a connection of its own, until this is left; by any task.

    A connection that cannot be led on ends at once.
    """
    tasks = set[asyncio.Task[None]]()

    async def led(near: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            if len(tasks) <= MOST_OPEN:
                with suppress(OSError, ToolError):
                    far, far_writer = await asyncio.open_connection(sock=await connect())
                    try:
                        await asyncio.gather(_pass_on(near, far_writer), _pass_on(far, writer))
                    finally:
                        far_writer.close()
        except asyncio.CancelledError:
            pass  # this task belongs to the relay alone
        finally:
            tasks.discard(task)
            writer.close()

    start = asyncio.start_unix_server if listening.family == socket.AF_UNIX else asyncio.start_server
    server = await start(led, sock=listening, backlog=MOST_OPEN)
    try:
        yield
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_PIECE):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()
