"""Whether the server lives, and whether it is ready for work."""

from __future__ import annotations

import msgspec

from ..routing import Call, Endpoint


class Health(msgspec.Struct, frozen=True):
    """`status` is "ok"."""

    status: str = "ok"


async def alive(call: Call[None, None]) -> Health:
    """The process answers."""
    return Health()


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/alive", alive, None, "Whether the process answers", reply=Health, group="health"),
)
