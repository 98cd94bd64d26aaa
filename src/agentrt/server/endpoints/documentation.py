"""The REST operation that returns the OpenAPI document."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any
from urllib.parse import quote

import anyio.to_thread
import msgspec
from starlette.responses import Response

from ..negotiation import JSON
from ..openapi import document
from ..routing import Call, Endpoint


def documentation(endpoints: Iterable[Endpoint], describe: Callable[..., dict[str, Any]] = document) -> Endpoint:
    """Return the operation that describes all others, and itself. The document is made at its first request."""
    lock = threading.Lock()

    @cache
    def made() -> dict[str, Any]:
        return describe((*described, endpoint))

    @lru_cache(maxsize=4)
    def encoded(root: str) -> bytes:
        """Return the document of a server that is mounted below a path; for a thread: it takes 0.2 s to make."""
        with lock:
            return msgspec.json.encode({**made(), "servers": [{"url": quote(root) or "/"}]})

    async def openapi(call: Call[None, None]) -> Response:
        """Return this document."""
        root = call.request.scope.get("root_path", "")
        return Response(await anyio.to_thread.run_sync(encoded, root), media_type=JSON)

    described = tuple(endpoints)
    endpoint = Endpoint("GET", "/openapi.json", openapi, None, "The OpenAPI document", reply=dict, group="server")
    return endpoint
