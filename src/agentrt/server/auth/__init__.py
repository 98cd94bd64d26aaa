"""Authentication of requests, checks of their host and origin, and limits: keys, tickets, middleware."""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from ..settings import ServerSettings
from .access import Access, Login, with_tickets
from .bodies import RequestBodies
from .guards import GateGuard, HostGuard, OriginGuard
from .headers import SecurityHeaders
from .keyring import has_keys
from .origins import checked_origins

HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Range", "X-Session-API-Key")
"""Request headers that pages of other origins may send."""


def middleware(settings: ServerSettings, access: Access) -> list[Middleware]:
    """Return the middleware for every request, the outermost first. Raises `ConfigurationError` for a wrong origin."""
    cors = Middleware(
        CORSMiddleware,
        allow_origins=checked_origins(settings.cors),
        allow_methods=("DELETE", "GET", "PATCH", "POST", "PUT"),
        allow_headers=HEADERS,
        expose_headers=("Content-Disposition", "Content-Range", "ETag", "Location", "Retry-After"),
    )
    return [
        Middleware(RequestBodies, patience=settings.patience),
        Middleware(SecurityHeaders),
        Middleware(HostGuard, settings=settings),
        *([cors] if settings.cors else ()),
        Middleware(OriginGuard, settings=settings),
        Middleware(GateGuard, access=access),
    ]


__all__ = ["Access", "Login", "has_keys", "middleware", "with_tickets"]
