"""Who asks, and whether from a page that may: keys, tickets, hosts and origins, limits."""

from __future__ import annotations

from starlette.middleware import Middleware

from ..settings import ServerSettings


def middleware(settings: ServerSettings) -> list[Middleware]:
    """What stands before every request, the first outermost."""
    return []


__all__ = ["middleware"]
