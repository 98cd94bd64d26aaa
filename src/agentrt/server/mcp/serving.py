"""The transports of the MCP server: `/mcp` of the HTTP server, and the standard streams of a process."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from ...loading import load
from ..hosting import Hosting
from ..observing.requests import PRINCIPAL
from ..principals import Principal
from ..problems import problem_of, refusal, response

SESSION = "mcp-session-id"

MOST_SESSIONS = 1000
"""Maximum number of sessions, for clients that speak a revision of MCP with sessions."""


class Speaker:
    """Answers requests to `/mcp`; the library is loaded with the first one. An async context manager."""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        self._manager: Any = None
        self._sessions: dict[str, Principal] = {}
        """The principal that began each session; no other may use it."""
        self._beginning = anyio.Lock()

    async def __aenter__(self) -> Speaker:
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        await self._tasks.__aexit__(None, None, None)

    def stop(self) -> None:
        """End all sessions: their clients reconnect to another server, or learn that there is none."""
        self._tasks.cancel_scope.cancel()

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose principal is in its scope."""
        who, session = _whose(Request(scope)), Headers(scope=scope).get(SESSION, "")
        if session and self._sessions.get(session, who) != who:
            problem = refusal(404, "Not found", "no such session", "not-found")
            await response(problem_of(problem))(scope, receive, send)
            return
        async with self._beginning:
            manager = self._manager or await self._tasks.start(self._run)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and (begun := Headers(raw=message["headers"]).get(SESSION)):
                self._sessions[begun] = who
                while len(self._sessions) > 2 * MOST_SESSIONS:
                    del self._sessions[next(iter(self._sessions))]
            await send(message)

        await manager.handle_request(scope, receive, noted)

    async def _run(self, *, task_status: TaskStatus[Any] = anyio.TASK_STATUS_IGNORED) -> None:
        protocol = await load("agentrt.server.mcp.protocol")
        library = await load("mcp.server.streamable_http_manager")
        server = await anyio.to_thread.run_sync(protocol.speaking, self._hosting, _whose)
        manager = library.StreamableHTTPSessionManager(server, max_sessions=MOST_SESSIONS)
        async with manager.run():
            self._manager = manager
            task_status.started(manager)
            await anyio.sleep_forever()


def _whose(request: Any) -> Principal:
    principal: Principal = request.scope[PRINCIPAL]
    return principal


class _Mcp:
    """The ASGI application at `/mcp`. It authenticates requests; their hosts and origins were checked before."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        services = scope["app"].state.services
        await services.authenticate(Request(scope))  # it notes the principal in the scope
        await services.speaker.answer(scope, receive, send)


ROUTES = (Route("/mcp", _Mcp(), methods=["GET", "POST", "DELETE"]),)


async def speak(hosting: Hosting, principal: Principal) -> None:
    """Serve the standard streams until the input ends, on behalf of one principal."""
    protocol = await load("agentrt.server.mcp.protocol")
    library = await load("mcp.server.stdio")
    server = await anyio.to_thread.run_sync(protocol.speaking, hosting, lambda request: principal)
    async with library.stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
