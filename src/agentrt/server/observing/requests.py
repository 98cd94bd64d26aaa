"""`RequestObserver`: ASGI middleware that counts requests and sockets, and logs one line for each.

A line has the owner, method, declared path, status, time and conversation, but nothing of the query, headers or body,
which may contain a key.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from http import HTTPStatus

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..principals import Principal
from .figures import OTHER, Figures

access = logging.getLogger("agentrt.server.access")

LONGEST = 128
"""Maximum number of characters of a conversation's id that is logged."""

QUIET = frozenset({"/alive", "/health", "/ready", "/metrics"})
"""Paths that machines request all the time; logged at level DEBUG."""

PRINCIPAL = "agentrt.principal"
"""The entry of a scope that has the principal, once it is known."""

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})

_log = logging.getLogger(__name__)


class RequestObserver:
    """Counts requests, and logs each one when it has ended."""

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self.app, self._figures = app, figures
        self._paths: dict[int, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        seen, begun = _Seen(send), time.perf_counter()
        is_socket, figures = scope["type"] == "websocket", self._figures
        figures.sockets += is_socket
        figures.in_flight += not is_socket
        try:
            await self.app(scope, receive, seen)
        except Exception:
            seen.status = seen.status or int(HTTPStatus.INTERNAL_SERVER_ERROR)
            _log.exception("%s failed", self._path(scope))
            raise
        finally:
            figures.sockets -= is_socket
            figures.in_flight -= not is_socket
            self._tell(scope, seen.status, time.perf_counter() - begun)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        method = "SOCKET" if scope["type"] == "websocket" else scope["method"]
        method = method if method in METHODS or method == "SOCKET" else OTHER
        path = self._path(scope)
        if method != "SOCKET":
            self._figures.answered(method, path, status, seconds)
        level = logging.DEBUG if path in QUIET else logging.INFO
        if not access.isEnabledFor(level):
            return
        principal: Principal | None = scope.get(PRINCIPAL)
        who = principal.owner if principal is not None else None
        conversation = scope.get("path_params", {}).get("id", "")
        conversation = conversation if conversation.isprintable() and len(conversation) <= LONGEST else "?"
        access.log(
            level,
            "%s %s %s %.1f ms%s%s",
            method,
            path,
            status,
            seconds * 1000,
            f" {who}" if who else "",
            f" {conversation}" if conversation else "",
            extra={
                "method": method,
                "path": path,
                "status": status,
                "ms": round(seconds * 1000, 3),
                "principal": who,
                "key": principal.key if principal is not None and principal.key else None,
                "conversation": conversation or None,
            },
        )

    def _path(self, scope: Scope) -> str:
        """Return the path as it was declared; `OTHER` for any path without a route."""
        endpoint = scope.get("endpoint")
        if endpoint is None:
            return OTHER
        if not self._paths:
            self._paths = dict(_declared(scope["app"].routes))
        return self._paths.get(id(endpoint), OTHER)


class _Seen:
    """Passes on messages, and keeps the status; for a socket, the code with which the server closed it."""

    __slots__ = ("_send", "status")

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            self.status = message["status"]
        elif message["type"] == "websocket.close":
            self.status = message.get("code", 1000)
        await self._send(message)


def _declared(routes: Iterable[BaseRoute]) -> Iterable[tuple[int, str]]:
    for route in routes:
        if (endpoint := getattr(route, "endpoint", None)) is not None:
            yield id(endpoint), str(getattr(route, "path", OTHER))
