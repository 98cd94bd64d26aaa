"""`Remote`: a session with a server over HTTP. Heavy, so imported when it is needed."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from mcp import Client

from ..specs.credentials import headers_of
from ..specs.mcp import MCPServer
from .causes import innermost
from .guarded import LONGEST_ANSWER, Guarded
from .login import Person
from .oauth import HeldTokens
from .tokens import Tokens
from .transports import Tell

A_DAY = 86_400.0
"""Seconds that a stream of events may be silent."""


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a record of the library's log says more than that a server has gone, which a connection tells."""
    error = record.exc_info[1] if record.exc_info else None
    return error is None or not isinstance(innermost(error), httpx2.TransportError | httpx2.HTTPStatusError)


for _name in ("mcp.client.sse", "mcp.client.streamable_http"):
    logging.getLogger(_name).addFilter(_is_news)


class Remote:
    """One session with a server whose variables are filled in."""

    def __init__(
        self, server: MCPServer, tokens: Tokens | None, person: Person | None = None, tell: Tell = lambda values: None
    ) -> None:
        self._server, self._transport = server, Guarded(server.url)
        self._auth = HeldTokens(server, tokens, person, tell) if tokens is not None and server.logs_in else None
        self._headers = {**server.headers, **headers_of(server.credentials)}

    @property
    def problem(self) -> str:
        """Why the server wants a login or has refused the last request, and what to do."""
        return (self._auth.problem if self._auth is not None else "") or self._transport.refusal

    @property
    def ended(self) -> anyio.Event:
        """Set when the server has forgotten the session."""
        return self._transport.ended

    @property
    def logged_in(self) -> bool:
        """Whether a person has logged in while this was open."""
        return self._auth is not None and self._auth.logged_in

    @property
    def has_session(self) -> bool:
        """Whether the server keeps state for the users of this session."""
        return self._server.way == "sse" or self._transport.has_session

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that are sent to the server now."""
        return self._auth.secrets if self._auth is not None else ()

    @asynccontextmanager
    async def opened(self, **common: Any) -> AsyncIterator[Client]:
        """Open the session; `common` are the arguments for the library's client."""
        async with Client(self._streams() if self._server.way == "http" else self._events(), **common) as client:
            yield client

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[TransportStreams]:
        async with (
            self._http() as http,
            streamable_http_client(self._server.url, http_client=http, max_sse_event_size=LONGEST_ANSWER) as streams,
        ):
            yield streams

    def _events(self) -> AbstractAsyncContextManager[TransportStreams]:
        return sse_client(
            self._server.url,
            timeout=self._server.connect_timeout,
            sse_read_timeout=A_DAY,
            httpx_client_factory=lambda headers=None, timeout=None, auth=None: self._http(),
        )

    def _http(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=self._transport,
            headers=self._headers,
            auth=self._auth,
            timeout=httpx2.Timeout(self._server.connect_timeout, read=None),  # each call has a limit of its own
            follow_redirects=False,
        )
