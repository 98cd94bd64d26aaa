"""`AgentFile`: an agent as its file says it, to be delegated to."""

from __future__ import annotations

from typing import Any

import msgspec

from .llm import INHERIT
from .skill import Origin

PERMISSIONS = ("always_confirm", "never_confirm", "confirm_risky")


class AgentFile(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as its file says it; the names in it are not looked up yet."""

    name: str
    description: str
    prompt: str
    path: str = ""
    digest: str = ""
    origin: Origin = "project"
    model: str = INHERIT
    """A profile, a model, or "inherit": that of the agent that delegates."""
    tools: tuple[str, ...] | None = None
    """None: those of the agent that delegates."""
    skills: tuple[str, ...] = ()
    hooks: Any = None
    max_steps: int | None = None
    max_cost: float | None = None
    permission_mode: str = ""
    condenser: Any = None
    """Kept as it is written."""
    servers: tuple[str, ...] = ()
