"""Who asks, and whether from a page that may: keys, tickets, hosts and origins, limits."""

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
"""Of requests, that other pages may send."""


def middleware(settings: ServerSettings, access: Access) -> list[Middleware]:
    """What stands before every request, the first outermost. Raises `ConfigurationError` for an origin that is none."""
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
