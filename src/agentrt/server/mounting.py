"""Serving as a part of another application: its lifespan must run this one's, and says so where it does not."""

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
    """The lifespan of an application that mounts `app`, which `create_app` made: it starts and stops `app`.

    An application with a lifespan of its own enters this one in it: `async with lifespan_of(agents)(app): ...`.
    """

    @asynccontextmanager
    async def lifespan(outer: Any) -> AsyncIterator[None]:
        async with app.router.lifespan_context(app):
            yield

    return lifespan


class Started:
    """ASGI middleware that refuses what comes to an application whose lifespan does not run."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not hasattr(scope["app"].state, "services"):
            problem = problem_of(refusal(503, "Not started", NOT_STARTED, "not-started"))
            await response(problem)(scope, receive, send)
            return
        await self.app(scope, receive, send)
