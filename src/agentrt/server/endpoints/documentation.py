"""What the operations are, for programs: the OpenAPI document."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import anyio.to_thread
import msgspec
from starlette.responses import Response

from ..negotiation import JSON
from ..openapi import document
from ..routing import Call, Endpoint


def documentation(endpoints: Iterable[Endpoint], describe: Callable[..., dict[str, Any]] = document) -> Endpoint:
    """The operation that describes all others, and itself. What it answers is made when it is first asked for."""
    lock = threading.Lock()

    @cache
    def made(keys: bool) -> bytes:
        return msgspec.json.encode(describe((*described, endpoint), keys=keys))

    def encoded(keys: bool) -> bytes:
        """The document; for a thread, since to make it takes a fifth of a second."""
        with lock:
            return made(keys)

    async def openapi(call: Call[None, None]) -> Response:
        """This document."""
        keys = not call.services.access.is_open
        return Response(await anyio.to_thread.run_sync(encoded, keys), media_type=JSON)

    described = tuple(endpoints)
    endpoint = Endpoint("GET", "/openapi.json", openapi, None, "The OpenAPI document", reply=dict, group="server")
    return endpoint
