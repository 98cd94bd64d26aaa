"""`Endpoint`: a REST operation, declared once: what serves it, checks it and documents it reads the same lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..conversation import Conversation
from .principals import Principal, Scope
from .problems import refusal
from .services import Services

Body = TypeVar("Body")
Query = TypeVar("Query")


@dataclass(frozen=True, slots=True)
class Call(Generic[Body, Query]):
    """A request that was checked: by whom it is, what it says, and what the server has to answer it."""

    request: Request
    services: Services
    principal: Principal
    body: Body
    query: Query

    def path(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    async def conversation(self) -> Conversation:
        """The one that the path names. Raises `ConversationMissing`."""
        return await self.services.hosting.get(self.path("id"), self.principal)


Handler = Callable[[Call[Any, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A REST operation: `body` and `query` are structs that are decoded before `handle`, `reply` what it returns."""

    method: str
    path: str
    handle: Handler
    scope: Scope | None
    """What the principal needs; None: nothing, not even a key."""
    summary: str
    body: Any = None
    query: type[msgspec.Struct] | None = None
    reply: Any = None
    status: int = 200
    group: str = ""
    """Under which it is documented."""
    id: str = ""
    """The operation's id, where it is not the handler's name."""

    @property
    def name(self) -> str:
        """The operation's id."""
        return self.id or self.handle.__name__

    def route(self) -> Route:
        """As Starlette serves it."""
        return Route(self.path, self._serve, methods=[self.method], name=self.name)

    async def _serve(self, request: Request) -> Response:
        services: Services = request.app.state.services
        principal = request.scope.get("principal") or await services.authenticate(request)
        if self.scope is not None and not principal.may(self.scope):
            raise refusal(403, "Not allowed", f"this needs a key with the scope {self.scope.value!r}", "scope")
        query = msgspec.convert(dict(request.query_params), self.query, strict=False) if self.query else None
        body = msgspec.json.decode(await _body(request, services), type=self.body) if self.body else None
        answer = await self.handle(Call(request, services, principal, body, query))
        if isinstance(answer, Response):
            return answer
        if answer is None:
            return Response(status_code=204)
        return Response(msgspec.json.encode(answer), status_code=self.status, media_type="application/json")


async def _body(request: Request, services: Services) -> bytes:
    most, size, parts = services.settings.max_body, 0, list[bytes]()
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise refusal(413, "The body is too large", f"at most {most} bytes are taken", "body-too-large")
        parts.append(part)
    return b"".join(parts) or b"{}"
