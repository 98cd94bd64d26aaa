"""ASGI middleware that checks the host, the origin and the limits of requests and WebSockets."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..problems import Refusal, refusal
from ..settings import ServerSettings
from .access import Access
from .credentials import credentials_of, is_stream, not_known
from .gate import VISIT, Visit, address_of, key_of
from .origins import is_ours, may_come_from, place_of
from .refusing import refuse

NOT_AUTHENTICATED = 4001
"""The close code of a socket whose key is no longer valid."""

EXPIRED = "the key has expired or was revoked"


class HostGuard:
    """Refuses requests for hosts that are not this server's."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self.app, self._allowed = app, settings.allow_hosts
        self._listening = settings.host.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        hosts = HTTPConnection(scope).headers.getlist("host")
        place = place_of(hosts[0]) if len(hosts) == 1 else None
        if place is None:
            await refuse(refusal(400, "No host", "send one Host header", "host"), scope, receive, send)
            return
        here = scope.get("server")
        if not is_ours(place.host, {self._listening, *((here[0],) if here else ())}, self._allowed):
            detail = "this server does not answer as that host: add it to the setting allow_hosts"
            await refuse(refusal(421, "Another host", detail, "host"), scope, receive, send)
            return
        await self.app(scope, receive, send)


class OriginGuard:
    """Refuses requests of pages of other origins: changes, sockets, and content to embed."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self.app, self._cors = app, frozenset(settings.cors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not may_come_from(HTTPConnection(scope), self._cors):
            detail = "a page of another origin asked: allow its origin with the setting cors"
            await refuse(refusal(403, "Another origin", detail, "origin"), scope, receive, send)
            return
        await self.app(scope, receive, send)


class GateGuard:
    """Enforces the limits of requests, and ends streams whose key is not valid any more."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self._access, self._gate = app, access, access.gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        visit = scope[VISIT] = Visit(is_stream(connection))
        try:
            known = self._access.known(credentials_of(connection).key)
            await self._gate.admit(key_of(known.key) if known is not None else address_of(connection), visit)
        except Refusal as refused:
            await refuse(refused, scope, receive, send)
            return
        sent: set[str] = set()

        async def sending(message: Message) -> None:
            kind = message["type"]
            if kind != "http.response.body" or not message.get("more_body"):
                sent.add(kind)
            await send(message)

        try:
            with visit.scope:
                await self.app(scope, receive, sending)
        finally:
            self._gate.leave(visit)
        if visit.cut:
            await _end(sent, scope, receive, send)


async def _end(sent: set[str], scope: Scope, receive: Receive, send: Send) -> None:
    """End a request that was cut, depending on what was sent already."""
    if not sent:
        await refuse(not_known(EXPIRED), scope, receive, send)
    elif "websocket.accept" in sent and "websocket.close" not in sent:
        await send({"type": "websocket.close", "code": NOT_AUTHENTICATED, "reason": EXPIRED})
    elif "http.response.start" in sent and "http.response.body" not in sent:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
