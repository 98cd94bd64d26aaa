"""`create_app`: the server as a Starlette application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection

from ..errors import AgentrtError, ConfigurationError
from ..runtime import Runtime
from . import pages
from .auth import Access, Login, middleware, with_tickets
from .draining import DrainedBody
from .endpoints import ENDPOINTS, servers
from .endpoints.openhands import openhands_paths
from .held import HeldWorkspaces
from .hosting import Hosting
from .mcp import serving as mcp
from .mcp.serving import Speaker
from .mounting import Started
from .observing import lag
from .observing.figures import Figures
from .observing.metrics import Metrics
from .observing.requests import PRINCIPAL, RequestObserver
from .observing.tracing import tracing
from .principals import Principal
from .problems import Refusal, on_error
from .readiness import Readiness
from .routing import routes
from .services import Authenticator, Services
from .settings import ServerSettings
from .streams.routes import ROUTES
from .streams.streams import Streams
from .titling import Titling


def create_app(
    runtime: Runtime, settings: ServerSettings = ServerSettings(), authenticate: Authenticator | None = None
) -> Starlette:
    """Return the application of a server whose conversations run in `runtime`, which its lifespan enters.

    Without `authenticate`, requests are authenticated by the keys of the runtime's store. Raises `ConfigurationError`
    for invalid settings.
    """
    access, figures = Access(runtime.store.shelf, settings), Figures()
    readiness = Readiness(lambda: figures.events, runtime.store.probe)
    traced = tracing(settings)
    runtime.hide(access.token)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if hasattr(app.state, "services"):
            raise ConfigurationError("this server runs already: its lifespan is entered once, by one application")
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(traced(runtime))
            runtime.observers.append(figures.committed)
            stack.callback(runtime.observers.remove, figures.committed)
            for report in (figures.log_failed, readiness.log_failed):
                runtime.hosts.reports.append(report)
                stack.callback(runtime.hosts.reports.remove, report)
            await stack.enter_async_context(runtime)
            await stack.enter_async_context(access.watching())
            hosting = await stack.enter_async_context(Hosting(runtime, settings))
            streams = await stack.enter_async_context(Streams(hosting, settings))
            hosting.followed = streams.follows
            gauges = {
                "agentrt_hosted_conversations": ("Conversations that were opened by name", lambda: len(hosting)),
                "agentrt_streams": ("Sockets and event streams that are followed on", lambda: streams.count),
                "agentrt_followed_conversations": ("Conversations that are followed", lambda: streams.relays),
            }
            metrics = Metrics(figures, runtime, gauges)
            app.state.services = Services(
                settings,
                runtime,
                hosting,
                streams,
                access,
                readiness,
                metrics,
                await stack.enter_async_context(Speaker(hosting)),
                await stack.enter_async_context(HeldWorkspaces(settings)),
                _noting(access if authenticate is None else with_tickets(authenticate, access.tickets), runtime),
            )
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(lag.measure, figures.lag.add)
            tasks.start_soon(readiness.load, runtime, settings, hosting.saved.agent)
            if settings.titles:
                titling = Titling(hosting)
                runtime.observers.append(titling.committed)
                stack.callback(runtime.observers.remove, titling.committed)
                tasks.start_soon(titling.run)
            try:
                await tasks.start(hosting.recover)
                yield
            finally:
                await _stop(app)

    errors = (AgentrtError, Refusal, HTTPException, msgspec.ValidationError, msgspec.DecodeError)
    app = Starlette(
        # stream routes come first: they share paths with endpoints, and match only requests for a stream
        routes=[
            *ROUTES,
            *mcp.ROUTES,
            *servers.ROUTES,
            *routes((*ENDPOINTS, *openhands_paths(settings))),
            *pages.routes(),
        ],
        middleware=[
            Middleware(Started),
            Middleware(DrainedBody),
            Middleware(RequestObserver, figures=figures),
            *middleware(settings, access),
        ],
        exception_handlers=dict.fromkeys((*errors, Exception), on_error),
        lifespan=lifespan,
    )
    app.state.access, app.state.runtime = access, runtime
    app.router.redirect_slashes = False  # a path exists or not
    return app


async def _stop(app: Starlette) -> None:
    """Let streams and steps end, unless the caller that serves the app has begun that; then take no more requests."""
    services: Services = app.state.services
    try:
        if not services.hosting.stopping:
            services.readiness.stopping = True
            services.streams.drain()
            services.speaker.stop()
            with anyio.CancelScope(shield=True):
                await services.hosting.drain(services.settings.drain)
    finally:
        del app.state.services


def _noting(authenticate: Login, runtime: Runtime) -> Authenticator:
    """Return an authenticator that also notes the principal in the scope, for the access log, and tells the runtime the
    port that it is served at.
    """

    async def authenticated(connection: HTTPConnection) -> Principal:
        if (port := (connection.scope.get("server") or (None, None))[1]) is not None:
            runtime.ports.add(port)
        principal = await authenticate(connection)
        connection.scope[PRINCIPAL] = principal
        return principal

    return authenticated
