"""Following conversations live: by WebSocket, and by server-sent events."""

from __future__ import annotations

from starlette.routing import BaseRoute

ROUTES: tuple[BaseRoute, ...] = ()

__all__ = ["ROUTES"]
