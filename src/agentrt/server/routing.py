"""`Endpoint`: a REST operation, declared once: what serves it, checks it and documents it reads the same lines."""

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
    """A request that was checked: by whom it is, what it says, and what the server has to answer it."""

    request: Request
    services: Services
    principal: Principal
    body: Body
    query: Query

    def path(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    @property
    def key(self) -> str | None:
        """What the client calls this request, so that asking again does nothing twice. Raises `Refusal`."""
        key = self.request.headers.get("idempotency-key")
        if key is not None and not (0 < len(key) <= 128 and key.isascii() and key.isprintable()):
            raise refusal(422, "Not an idempotency key", "give 1 to 128 printable ASCII characters", "idempotency-key")
        return key

    def named(self) -> str:
        """The id of the conversation that the path names. Raises `ConversationMissing` for what cannot be one."""
        if not _NAME.fullmatch(name := self.path("id")):
            raise ConversationMissing(name)
        return name

    async def conversation(self) -> Conversation:
        """The one that the path names. Raises `ConversationMissing`, and what opening it does."""
        return await self.services.hosting.get(self.named(), self.principal)


Handler = Callable[[Call[Any, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Answered:
    """What a handler returns where the status is not always the same."""

    body: Any
    status: int
    headers: dict[str, str] = field(default_factory=dict)


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
    also: tuple[int, ...] = ()
    """Other statuses with the same reply."""
    media_type: str | None = JSON
    """Of the reply; None: many."""
    upload: str = ""
    """The media type of a body that the handler reads itself."""
    headers: tuple[str, ...] = ()
    """Of the request, that mean something here."""
    example: Any = None
    """A body, as builtins."""
    any_scope: bool = False
    """Whether a key with any other scope will do, too."""

    @property
    def name(self) -> str:
        """The operation's id."""
        return self.id or self.handle.__name__

    async def serve(self, request: Request) -> Response:
        """Check a request, and answer it."""
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
        """The body, while it is not too large; without one, an empty object."""
        most, size, parts = services.settings.max_body, 0, list[bytes]()
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise refusal(413, "The body is too large", f"at most {most} bytes are taken", "body-too-large")
            parts.append(part)
        if not size:
            return b"{}"
        if not is_json(request.headers.get("content-type", "")):
            raise refusal(415, "Not JSON", f"send the body with 'Content-Type: {JSON}'", "media-type")
        return b"".join(parts)


class _Resource:
    """The operations on one path: an ASGI application."""

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
    """As Starlette serves them: a route a path, so that what a path does not take is told with what it does."""
    paths: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, []).append(endpoint)
    return [Route(path, _Resource(found), name=found[0].name) for path, found in paths.items()]
