"""`Transport`: reaches a server as a process, or over HTTP. The libraries are loaded here, off the event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import anyio
import anyio.to_thread

from ..loading import load
from ..placing import Place
from ..specs.mcp import MCPServer
from .process import ServerProcess

if TYPE_CHECKING:
    from mcp_types import Implementation

    from mcp import Client

    from .tokens import Tokens


Tell: TypeAlias = Callable[[Iterable[str]], None]
"""A callback that gets secrets, to mask them, before they are sent to a server."""


class Answering(Protocol):
    """Handles the requests and notifications of a server."""

    async def heard(self, message: Any) -> None:
        """Handle a notification, or an error of the transport."""
        ...

    async def logged(self, message: Any) -> None:
        """Handle a line of the server's log."""
        ...

    async def elicited(self, context: Any, params: Any) -> Any:
        """Return a person's answer to a form, or to a request to open an address."""
        ...

    async def sampled(self, context: Any, params: Any) -> Any:
        """Return a model's answer."""
        ...

    async def roots(self, context: Any) -> Any:
        """Return the directories that the server may work in."""
        ...


class Transport(Protocol):
    """A connection to a server, for one session."""

    @property
    def ended(self) -> anyio.Event:
        """Set when the server has gone away."""
        ...

    @property
    def words(self) -> str:
        """What the server said last outside the protocol: its standard error, or why it refused a request."""
        ...

    @property
    def has_session(self) -> bool:
        """Whether the server keeps state for the users of this session, so that others need a session of their own."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that are sent to the server now."""
        ...

    def opened(self, answers: Answering) -> AbstractAsyncContextManager[Client]:
        """Open a session, in which `answers` handles the server's requests."""
        ...


def transport_of(server: MCPServer, place: Place | None, tokens: Tokens | None, tell: Tell) -> Transport:
    """Return a transport to a server whose variables are filled in. A program runs in `place`, or on this machine, and
    `tell` gets secrets to mask.
    """
    if server.way != "stdio":
        return _Remote(server, tokens, tell)
    from ..sandboxes.here import THIS_MACHINE  # no program is run by an import

    return _Stdio(server, place or THIS_MACHINE)


class _Stdio:
    """A server in a process of its own."""

    has_session, secrets = True, ()

    def __init__(self, server: MCPServer, place: Place) -> None:
        self._process = ServerProcess(place, (server.command, *server.args), server.env, server.cwd or ".")

    @property
    def ended(self) -> anyio.Event:
        return self._process.ended

    @property
    def words(self) -> str:
        return self._process.words

    @asynccontextmanager
    async def opened(self, answers: Answering) -> AsyncIterator[Client]:
        mcp = await load("mcp")
        streams = self._process.streams()
        async with mcp.Client(streams, list_roots_callback=answers.roots, **common(answers)) as client:
            yield client


class _Remote:
    """A server over HTTP. When the transport dies, the library cancels the task that holds the session."""

    def __init__(self, server: MCPServer, tokens: Tokens | None, tell: Tell) -> None:
        self._server, self._tokens, self._tell = server, tokens, tell
        self._never = anyio.Event()
        self._way: Any = None

    @property
    def ended(self) -> anyio.Event:
        return self._way.ended if self._way is not None else self._never

    @property
    def words(self) -> str:
        return self._way.problem if self._way is not None else ""

    @property
    def has_session(self) -> bool:
        return self._way is None or self._way.has_session

    @property
    def secrets(self) -> tuple[str, ...]:
        return self._way.secrets if self._way is not None else ()

    @asynccontextmanager
    async def opened(self, answers: Answering) -> AsyncIterator[Client]:
        library = await load(f"{__package__}.remote")
        self._way = library.Remote(self._server, self._tokens, None, self._tell)
        async with self._way.opened(**common(answers)) as client:
            yield client


def common(answers: Answering) -> dict[str, Any]:
    """Return the common arguments of all sessions. They have no roots: a remote server gets no directory of ours."""
    return {
        "message_handler": answers.heard,
        "logging_callback": answers.logged,
        "elicitation_callback": answers.elicited,
        "sampling_callback": answers.sampled,
        "log_level": "info",
        "cache": None,
        "client_info": _ourselves(),
    }


@cache
def _ourselves() -> Implementation:
    """Return the name and the version that a server is told."""
    from mcp_types import Implementation

    return Implementation(name="agentrt", version=version("agentrt"))
