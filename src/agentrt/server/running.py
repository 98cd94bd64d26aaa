"""Runs the server: Hypercorn in this event loop, on a socket opened here."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec

import anyio
from hypercorn.config import Config
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import ConfigurationError
from ..runtime import Runtime
from .connections import serve_connections
from .hypercorn_sockets import adapt
from .services import Services
from .settings import ServerSettings

GOODBYE = 5.0
"""Seconds that requests and sockets have to end after the server stops."""


def run(main: Callable[..., Awaitable[None]], *given: object) -> None:
    """Run `main(*given)` in an event loop for a server: uvloop if it is installed, which is faster."""
    anyio.run(main, *given, backend_options={"use_uvloop": find_spec("uvloop") is not None})


@asynccontextmanager
async def serving(app: Starlette, settings: ServerSettings) -> AsyncIterator[str]:
    """Serve `app` while the body runs, and give its URL. At the end, streams are told that the server goes away.

    Raises `ConfigurationError` if the address is not available, and the errors of the app's lifespan.
    """
    listener = _listen(settings)
    host, port = listener.getsockname()[:2]
    config, stop = Config(), asyncio.Event()
    config.graceful_timeout = GOODBYE
    config.accesslog, config.errorlog = None, None
    config.include_server_header = False
    config.websocket_max_message_size = settings.max_body
    config.keep_alive_timeout = settings.keep_alive
    config.backlog = settings.backlog  # Hypercorn listens once more, with its own number

    async def run() -> None:
        await serve_connections(_with_wires(app), listener, config, stop, http2=settings.http2)

    runtime: Runtime | None = getattr(app.state, "runtime", None)
    if runtime is not None:
        runtime.ports.add(port)
    async with app.router.lifespan_context(app):  # run here, so that its errors are raised here
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            try:
                yield f"http://{f'[{host}]' if ':' in host else host}:{port}"
            finally:
                services: Services | None = getattr(app.state, "services", None)
                if services is not None:
                    services.readiness.stopping = services.hosting.stopping = True
                    services.streams.drain()
                    services.speaker.stop()
                stop.set()


async def drain(app: Starlette, seconds: float) -> None:
    """Refuse new work, and wait up to `seconds` for running steps to end; others are cut at the lifespan's end."""
    services: Services = app.state.services
    services.readiness.stopping = True
    await services.hosting.drain(seconds)


def _listen(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=settings.backlog)
    except OSError as error:
        where = f"{settings.host}, port {settings.port}"
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(f"{where} is in use: stop what listens there, or give another --port") from error
        raise ConfigurationError(f"cannot listen on {where}: {error.strerror or error}") from error
    # connections inherit this: the kernel ends a connection whose client reads nothing, even after we close it
    timeout = settings.patience + max(settings.patience, GOODBYE)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * timeout))
    return listener


def _with_wires(app: ASGIApp) -> ASGIApp:
    """Return the app, with a `Wire` for each socket."""

    async def serve_one(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            adapt(scope, send)
        await app(scope, receive, send)

    return serve_one
