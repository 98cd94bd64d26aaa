"""`Channel`: the socket over which the code in a kernel calls the agent's tools and has documents parsed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import msgspec

from ...errors import ToolError
from ...placing import Place
from ...sandboxes.connections import MOST_OPEN, Connections

LONGEST = 16 << 20
"""Maximum bytes of a request."""


class Asking(msgspec.Struct):
    """A request of the code: one line of JSON, as is its answer."""

    what: str
    """"call" for a tool, "parse" for a document."""
    name: str = ""
    arguments: dict[str, Any] = {}


class Answer(msgspec.Struct, omit_defaults=True):
    """An answer: a text with details, or a problem."""

    text: str = ""
    details: msgspec.Raw = msgspec.Raw(b"null")
    failed: bool = False
    problem: str = ""


Given = Callable[[Asking], Awaitable[Answer]]
"""Answers a request. Raises `ToolError`."""


class Channel:
    """Listens for as long as a kernel lives. Each cell has its own handler of requests."""

    def __init__(self) -> None:
        self.path = ""
        """Where the kernel finds it."""
        self._held = AsyncExitStack()
        self.given: Given | None = None
        """The handler of the running cell, None between cells."""
        self._server: asyncio.AbstractServer | None = None
        self._connections = Connections(self._serve)

    async def open(self, place: Place) -> None:
        """Begin to listen. Raises `ToolError` in a place from which nothing can connect."""
        near, self.path = await self._held.enter_async_context(place.shared("agent"))
        self._server = await asyncio.start_unix_server(self._connections.accept, near, limit=LONGEST, backlog=MOST_OPEN)

    async def close(self) -> None:
        """Stop listening, and drop all open requests."""
        if self._server is not None:
            self._server.close()
        await self.drop()
        await self._held.aclose()

    async def drop(self) -> None:
        """Drop all open requests, because the cell has ended."""
        await self._connections.drop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, unless the code closes the connection before."""
        line = await reader.readline()

        async def gone() -> None:
            await reader.read(1)
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gone)
            answer = await self._answer(line)
            writer.write(msgspec.json.encode(answer) + b"\n")
            await writer.drain()
            tasks.cancel_scope.cancel()

    async def _answer(self, line: bytes) -> Answer:
        try:
            asked = msgspec.json.decode(line, type=Asking)
            if self.given is None:
                return Answer(problem="no cell runs: the agent's tools are called while one does")
            return await self.given(asked)
        except msgspec.DecodeError as error:
            return Answer(problem=f"this is not a request: {error}")
        except ToolError as error:
            return Answer(problem=str(error))
