"""The routes of streams: two for WebSockets, and two for server-sent events, at a path of their own and at that of a
conversation's events.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import Scope
from starlette.websockets import WebSocket

from ...errors import AgentrtError
from ..principals import Principal
from ..problems import Refusal, problem_of
from ..services import Services
from .codes import closing, cut
from .declared import EVENTS, ONE, PATH, SEVERAL, follow_query
from .socket import Socket
from .sse import MEDIA_TYPE, EventSource


class EventSourceRoute(Route):
    """A route that matches only requests that accept server-sent events: pages of events have the same path."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether a request matches."""
        match, found = super().matches(scope)
        if match is Match.FULL and not any(
            name == b"accept" and MEDIA_TYPE.encode() in value for name, value in scope["headers"]
        ):
            return Match.NONE, {}
        return (match, found) if match is Match.FULL else (Match.NONE, {})


async def follow_one(websocket: WebSocket) -> None:
    """Serve a socket that follows one conversation from a cursor on, and may follow others."""
    await _talk(websocket, websocket.path_params["id"])


async def follow_several(websocket: WebSocket) -> None:
    """Serve a socket that follows the conversations that it is told to."""
    await _talk(websocket)


async def follow_events(request: Request) -> Response:
    """Return a response that follows a conversation, as server-sent events."""
    services: Services = request.app.state.services
    principal = await _principal(request, services)
    wanted = follow_query(request.query_params, request.headers.get("last-event-id"))
    source = EventSource(services.streams)
    await source.follow(request.path_params["id"], principal, wanted.cursor, deltas=wanted.deltas)
    return source


async def _talk(websocket: WebSocket, alone: str | None = None) -> None:
    services: Services = websocket.app.state.services
    try:
        principal = await _principal(websocket, services)
        wanted = follow_query(websocket.query_params, websocket.headers.get("last-event-id"))
        socket = Socket(websocket, services, principal, alone)
        services.streams.add(socket)
    except (Refusal, AgentrtError) as error:
        return await _refuse(websocket, error)
    try:
        await websocket.accept()
        await socket.serve(wanted.cursor, deltas=wanted.deltas)
    finally:
        services.streams.remove(socket)


async def _principal(connection: HTTPConnection, services: Services) -> Principal:
    found: Principal | None = connection.scope.get("principal")
    return found or await services.authenticate(connection)


async def _refuse(websocket: WebSocket, error: Exception) -> None:
    """Close with a code; the handshake is accepted first, because browsers show no code of a refused handshake."""
    code, reason = closing(problem_of(error))
    await websocket.accept()
    await websocket.close(code, cut(reason))
    services: Services = websocket.app.state.services
    services.streams.discard(websocket)


ROUTES: tuple[BaseRoute, ...] = (
    WebSocketRoute(ONE.path, follow_one),
    WebSocketRoute(SEVERAL.path, follow_several),
    Route(EVENTS.path, follow_events, methods=["GET"]),
    EventSourceRoute(PATH, follow_events, methods=["GET"]),
)
