"""What the operations are, for programs: the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import msgspec
from starlette.responses import Response

from ..negotiation import JSON
from ..openapi import document
from ..routing import Call, Endpoint


def documentation(endpoints: Iterable[Endpoint]) -> Endpoint:
    """The operation that describes all others, and itself."""

    @cache
    def encoded(keys: bool) -> bytes:
        return msgspec.json.encode(document((*described, endpoint), keys=keys))

    async def openapi(call: Call[None, None]) -> Response:
        """This document."""
        return Response(encoded(not call.services.access.is_open), media_type=JSON)

    described = tuple(endpoints)
    endpoint = Endpoint("GET", "/openapi.json", openapi, None, "The OpenAPI document", reply=dict, group="server")
    return endpoint
