"""`Connections`: those to a socket on which this process listens, each served by a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ..errors import ToolError

MOST_OPEN = 512
"""Maximum number of connections at once to one socket; more are closed."""

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection. `OSError`, `ValueError` and `ToolError` end it."""


class Connections:
    """The connections to one socket; `accept` is for the server of asyncio."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._open = set[asyncio.Task[None]]()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= MOST_OPEN:
            writer.close()
            return
        self._open.add(task)
        try:
            # its task belongs to the connections alone, so that a cancellation goes to nobody else
            with suppress(OSError, ValueError, ToolError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._open.discard(task)
            writer.close()

    async def drop(self) -> None:
        """End all that are open."""
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
