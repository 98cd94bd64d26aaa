"""Connections as a server gives them to an application."""

from __future__ import annotations

from typing import Any

from starlette.requests import HTTPConnection


def connection(
    method: str = "GET", path: str = "/", query: str = "", kind: str = "http", client: str = "127.0.0.1", **headers: str
) -> HTTPConnection:
    """A request, or a WebSocket; headers with `_` for `-`."""
    raw = [(name.replace("_", "-").lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope: dict[str, Any] = {
        "type": kind,
        "path": path,
        "query_string": query.encode(),
        "headers": raw,
        "client": (client, 1),
        "server": ("127.0.0.1", 8000),
    }
    if kind == "http":
        scope["method"] = method
    return HTTPConnection(scope)
