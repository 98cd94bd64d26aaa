"""`Services`: the objects that the endpoints of one server share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from starlette.requests import HTTPConnection

from ..runtime import Runtime
from .auth.access import Access
from .held import HeldWorkspaces
from .hosting import Hosting
from .mcp.serving import Speaker
from .observing.metrics import Metrics
from .principals import EVERYONE, Principal
from .readiness import Readiness
from .settings import ServerSettings
from .streams.streams import Streams


class Authenticator(Protocol):
    """Determines the principal of a request."""

    async def __call__(self, connection: HTTPConnection) -> Principal:
        """Return the principal. Raises `Refusal` if it is unknown, or makes too many requests."""
        ...


async def open_access(connection: HTTPConnection) -> Principal:
    """Return `EVERYONE`, for a server without keys."""
    return EVERYONE


@dataclass(frozen=True, slots=True)
class Services:
    """The objects that the endpoints of one server share."""

    settings: ServerSettings
    runtime: Runtime
    hosting: Hosting
    streams: Streams
    access: Access
    readiness: Readiness
    metrics: Metrics
    speaker: Speaker
    held: HeldWorkspaces
    authenticate: Authenticator = open_access
    started: float = field(default_factory=time.monotonic)
    """When the server started, in seconds on the monotonic clock."""
