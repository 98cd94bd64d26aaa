"""Runs the server: Hypercorn in this event loop, on a socket of ours."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from hypercorn.asyncio import serve
from hypercorn.config import Config
from starlette.applications import Starlette

from .settings import ServerSettings


@asynccontextmanager
async def serving(app: Starlette, settings: ServerSettings) -> AsyncIterator[str]:
    """Serve `app` while the body runs; the URL at which it answers. Raises `OSError` when the address is taken."""
    listener = socket.create_server(
        (settings.host, settings.port), family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET, backlog=2048
    )
    host, port = listener.getsockname()[:2]
    config, stop = Config(), anyio.Event()
    config.bind = [f"fd://{listener.detach()}"]  # which it closes
    config.graceful_timeout = settings.drain
    config.accesslog, config.errorlog = None, None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: serve(app, config, shutdown_trigger=stop.wait))  # type: ignore[arg-type]
        try:
            yield f"http://{f'[{host}]' if ':' in host else host}:{port}"
        finally:
            stop.set()
