"""REST operations on the server: whether it is alive, whether it takes work, and what it is."""

from __future__ import annotations

import time
from importlib.metadata import version

from ...specs.llm import named
from ..principals import Scope
from ..routing import Call, Endpoint
from ..schemas import Health, ServerInfo


async def alive(call: Call[None, None]) -> Health:
    """Answer, to show that the process is alive; for a supervisor that restarts it if not."""
    return Health()


async def health(call: Call[None, None]) -> Health:
    """Do the same as `/alive`, under the name that many tools look for."""
    return Health()


async def ready(call: Call[None, None]) -> Health:
    """Answer 200 if the server takes work: model calls are loaded, logs can be written, and it was not told to stop."""
    await call.services.readiness.check()
    return Health()


async def server_info(call: Call[None, None]) -> ServerInfo:
    """Return the server's name, version, uptime and limits, and the owner and scopes of the key."""
    settings, principal = call.services.settings, call.principal
    agent = call.services.hosting.saved.agent
    return ServerInfo(
        name="agentrt",
        version=version("agentrt"),
        uptime=time.monotonic() - call.services.started,
        agent=agent is not None,
        model=named(agent.llm) if agent is not None else None,
        max_body=settings.max_body,
        max_upload=settings.max_upload,
        owner=principal.owner,
        scopes=tuple(sorted(scope.value for scope in principal.scopes)),
    )


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/alive", alive, None, "Whether the process answers", reply=Health, group="server"),
    Endpoint("GET", "/health", health, None, "Whether the process answers", reply=Health, group="server"),
    Endpoint("GET", "/ready", ready, None, "Whether the server takes work", reply=Health, group="server"),
    Endpoint("GET", "/server_info", server_info, Scope.OBSERVE, "What serves", reply=ServerInfo, group="server"),
)
