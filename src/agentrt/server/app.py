"""`create_app`: the server's parts put together as one Starlette application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException

from ..errors import AgentrtError
from ..runtime import Runtime
from . import pages
from .auth import Access, middleware
from .endpoints import ENDPOINTS
from .hosting import Hosting
from .problems import Refusal, on_error
from .routing import routes
from .services import Authenticator, Services
from .settings import ServerSettings
from .streams.routes import ROUTES
from .streams.streams import Streams


def create_app(
    runtime: Runtime, settings: ServerSettings = ServerSettings(), authenticate: Authenticator | None = None
) -> Starlette:
    """The application of a server whose conversations run in `runtime`, which its lifespan enters.

    Without `authenticate` it goes by the keys of the runtime's store. Raises `ConfigurationError` for settings that
    cannot be.
    """
    access = Access(runtime.store.root, settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with (
            runtime,
            access.watching(),
            Hosting(runtime, settings) as hosting,
            Streams(hosting, settings) as streams,
        ):
            app.state.services = Services(settings, runtime, hosting, streams, access, authenticate or access)
            yield

    errors = (AgentrtError, Refusal, HTTPException, msgspec.ValidationError, msgspec.DecodeError)
    return Starlette(
        # a stream's routes come first: they share paths with the endpoints, and take only what asks for a stream
        routes=[*ROUTES, *routes(ENDPOINTS), *pages.routes()],
        middleware=middleware(settings, access),
        exception_handlers=dict.fromkeys((*errors, Exception), on_error),
        lifespan=lifespan,
    )
