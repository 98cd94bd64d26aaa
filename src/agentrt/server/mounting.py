"""Mounting the server in another application, whose lifespan must run the server's: else all requests are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from .problems import problem_of, refusal, response

Lifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[None]]

NOT_STARTED = (
    "this server was not started: an application that mounts it must run its lifespan. Write"
    " Starlette(lifespan=lifespan_of(agents), routes=[Mount('/agents', agents)]), or"
    " FastAPI(lifespan=lifespan_of(agents)), with lifespan_of from agentrt.server"
)


def lifespan_of(app: Starlette) -> Lifespan:
    """Return a lifespan for an application that mounts `app`, made by `create_app`: it starts and stops `app`.

    An application with its own lifespan enters this one inside it: `async with lifespan_of(agents)(app): ...`.
    """

    @asynccontextmanager
    async def lifespan(outer: Any) -> AsyncIterator[None]:
        async with app.router.lifespan_context(app):
            yield

    return lifespan


class Started:
    """ASGI middleware that refuses requests while the application's lifespan does not run."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not hasattr(scope["app"].state, "services"):
            problem = problem_of(refusal(503, "Not started", NOT_STARTED, "not-started"))
            await response(problem)(scope, receive, send)
            return
        await self.app(scope, receive, send)
