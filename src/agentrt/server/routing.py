"""`Endpoint`: a REST operation, declared once for the code that serves it, checks its requests and documents it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from ..conversation import Conversation
from ..errors import ConversationMissing
from .negotiation import JSON, acceptable, decode_body, decode_query, is_json
from .permissions import require
from .principals import NOBODY, Principal, Scope
from .problems import refusal
from .schemas import NAME
from .services import Services

Body = TypeVar("Body")
Query = TypeVar("Query")

_NAME = re.compile(NAME)


@dataclass(frozen=True, slots=True)
class Call(Generic[Body, Query]):
    """A checked request: its principal, its decoded content, and the services to answer it."""

    request: Request
    services: Services
    principal: Principal
    body: Body
    query: Query

    def path(self, name: str) -> str:
        """Return a parameter of the path."""
        return str(self.request.path_params[name])

    @property
    def key(self) -> str | None:
        """The idempotency key, by which a repeated request has no second effect. Raises `Refusal` if it is invalid."""
        key = self.request.headers.get("idempotency-key")
        if key is not None and not (0 < len(key) <= 128 and key.isascii() and key.isprintable()):
            raise refusal(422, "Not an idempotency key", "give 1 to 128 printable ASCII characters", "idempotency-key")
        return key

    def named(self) -> str:
        """Return the id of the conversation that the path names. Raises `ConversationMissing` if it cannot be an id."""
        if not _NAME.fullmatch(name := self.path("id")):
            raise ConversationMissing(name)
        return name

    async def conversation(self) -> Conversation:
        """Return the conversation that the path names. Raises `ConversationMissing`, and errors of opening."""
        return await self.services.hosting.get(self.named(), self.principal)

    async def reading(self) -> Conversation:
        """Do the same for a request that only reads: another process may have the conversation open."""
        return await self.services.hosting.read(self.named(), self.principal)


Handler = Callable[[Call[Any, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Answered:
    """A handler's reply with its own status and headers."""

    body: Any
    status: int
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A REST operation: `handle` gets `body` and `query` as decoded structs, and returns a `reply`."""

    method: str
    path: str
    handle: Handler
    scope: Scope | None
    """The scope that the principal needs; None: none, not even a key."""
    summary: str
    body: Any = None
    query: type[msgspec.Struct] | None = None
    reply: Any = None
    status: int = 200
    group: str = ""
    """The heading that it is documented under."""
    id: str = ""
    """The operation's id, if it is not the handler's name."""
    also: tuple[int, ...] = ()
    """Other statuses with the same reply."""
    media_type: str | None = JSON
    """The media type of the reply; None: it varies."""
    upload: str = ""
    """The media type of a body that the handler reads itself."""
    headers: tuple[str, ...] = ()
    """Request headers that the operation uses."""
    example: Any = None
    """An example of a body, as builtins."""
    any_scope: bool = False
    """Whether a key with any scope is enough."""

    @property
    def name(self) -> str:
        """The operation's id."""
        return self.id or self.handle.__name__

    async def serve(self, request: Request) -> Response:
        """Check a request, and return the response."""
        services: Services = request.app.state.services
        principal = await services.authenticate(request) if self.scope is not None else NOBODY
        if self.scope is not None and not self.any_scope:
            require(principal, self.scope)
        if self.media_type is not None and not acceptable(request.headers.get("accept", ""), self.media_type):
            raise refusal(406, "Not acceptable", f"the answer is {self.media_type}", "not-acceptable")
        query = decode_query(request.query_params, self.query) if self.query else None
        body = decode_body(await self._body(request, services), self.body) if self.body else None
        answer = await self.handle(Call(request, services, principal, body, query))
        if isinstance(answer, Response):
            return answer
        if answer is None:
            return Response(status_code=204)
        if not isinstance(answer, Answered):
            answer = Answered(answer, self.status)
        data = msgspec.json.encode(answer.body)
        return Response(data, status_code=answer.status, headers=answer.headers, media_type=JSON)

    async def _body(self, request: Request, services: Services) -> bytes:
        """Return the body; "{}" if there is none. Raises `Refusal` if the body is too large or not JSON."""
        most, size, parts = services.settings.max_body, 0, list[bytes]()
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise refusal(413, "The body is too large", f"the limit is {most} bytes", "body-too-large")
            parts.append(part)
        if not size:
            return b"{}"
        if not is_json(request.headers.get("content-type", "")):
            raise refusal(415, "Not JSON", f"send the body with 'Content-Type: {JSON}'", "media-type")
        return b"".join(parts)


class _Resource:
    """The operations on one path, as an ASGI application."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._operations = {endpoint.method: endpoint for endpoint in endpoints}
        if get := self._operations.get("GET"):
            self._operations["HEAD"] = get
        self._allow = ", ".join(sorted((*self._operations, "OPTIONS")))

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        endpoint = self._operations.get(request.method)
        if endpoint is not None:
            response = await endpoint.serve(request)
        elif request.method == "OPTIONS":
            response = Response(status_code=204, headers={"Allow": self._allow})
        else:
            title, detail = "Method not allowed", f"this takes {self._allow}"
            raise refusal(405, title, detail, "method-not-allowed", Allow=self._allow)
        await response(scope, receive, send)


def routes(endpoints: Iterable[Endpoint]) -> list[BaseRoute]:
    """Return Starlette routes, one for each path, so that a refused method is answered with the allowed ones."""
    paths: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, []).append(endpoint)
    return [Route(path, _Resource(found), name=found[0].name) for path, found in paths.items()]
