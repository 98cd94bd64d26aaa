"""How a server is reached: as a process, or over HTTP. The library `mcp` is loaded here, off the event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.to_thread

from ..specs.mcp import MCPServer
from .process import ServerProcess

if TYPE_CHECKING:
    from mcp import Client


class Answers(Protocol):
    """Who answers a server, and hears what it says of its own accord."""

    async def heard(self, message: Any) -> None:
        """A notification, or an error of the transport."""
        ...

    async def logged(self, message: Any) -> None:
        """A line of its log."""
        ...

    async def elicited(self, context: Any, params: Any) -> Any:
        """What a person answers to a form, or to the wish that an address is opened."""
        ...

    async def sampled(self, context: Any, params: Any) -> Any:
        """What a model says."""
        ...

    async def roots(self, context: Any) -> Any:
        """The directories that it may work in."""
        ...


class Transport(Protocol):
    """A way to a server, for one session."""

    @property
    def ended(self) -> anyio.Event:
        """Set when the server has gone away."""
        ...

    @property
    def words(self) -> str:
        """What the server said last beside the protocol: its standard error."""
        ...

    def opened(self, answers: Answers) -> AbstractAsyncContextManager[Client]:
        """A session, in which `answers` is asked by the server."""
        ...


def transport_of(server: MCPServer, mark: str) -> Transport:
    """The way to a server whose variables are filled in; `mark` names whose processes it starts."""
    return _Stdio(server, mark) if server.way == "stdio" else _Remote(server)


class _Stdio:
    """A process of its own."""

    def __init__(self, server: MCPServer, mark: str) -> None:
        self._process = ServerProcess((server.command, *server.args), server.env, server.cwd or ".", mark)

    @property
    def ended(self) -> anyio.Event:
        return self._process.ended

    @property
    def words(self) -> str:
        return self._process.words

    @asynccontextmanager
    async def opened(self, answers: Answers) -> AsyncIterator[Client]:
        mcp = await anyio.to_thread.run_sync(import_module, "mcp")
        async with mcp.Client(self._process.streams(), list_roots_callback=answers.roots, **_common(answers)) as client:
            yield client


class _Remote:
    """Over HTTP: when it dies the library ends the task that holds the session."""

    words = ""

    def __init__(self, server: MCPServer) -> None:
        self._server, self.ended = server, anyio.Event()

    @asynccontextmanager
    async def opened(self, answers: Answers) -> AsyncIterator[Client]:
        server = self._server
        mcp, httpx = [await anyio.to_thread.run_sync(import_module, name) for name in ("mcp", "httpx2")]
        timeout = httpx.Timeout(server.connect_timeout, read=server.timeout)
        async with httpx.AsyncClient(headers=dict(server.headers), timeout=timeout, follow_redirects=False) as http:
            if server.way == "sse":
                library = await anyio.to_thread.run_sync(import_module, "mcp.client.sse")
                streams = library.sse_client(server.url, headers=dict(server.headers))
            else:
                library = await anyio.to_thread.run_sync(import_module, "mcp.client.streamable_http")
                streams = library.streamable_http_client(server.url, http_client=http)
            async with mcp.Client(streams, **_common(answers)) as client:
                yield client


def _common(answers: Answers) -> dict[str, Any]:
    """What every session is opened with; a server elsewhere is told of no directory of this machine."""
    return {
        "message_handler": answers.heard,
        "logging_callback": answers.logged,
        "elicitation_callback": answers.elicited,
        "sampling_callback": answers.sampled,
        "log_level": "info",
        "cache": None,
    }
