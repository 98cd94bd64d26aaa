"""`AgentFile`: an agent for delegation, as defined in its file."""

from __future__ import annotations

from typing import Any

import msgspec

from .llm import INHERIT
from .skill import Origin

PERMISSIONS = ("always_confirm", "never_confirm", "confirm_risky")


class AgentFile(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as defined in its file; the names in it are not resolved yet."""

    name: str
    description: str
    prompt: str
    path: str = ""
    digest: str = ""
    origin: Origin = "project"
    model: str = INHERIT
    """A profile, a model, or "inherit": the model of the delegating agent."""
    tools: tuple[str, ...] | None = None
    """Names of tools; None: the tools of the delegating agent."""
    skills: tuple[str, ...] = ()
    hooks: Any = None
    max_steps: int | None = None
    max_cost: float | None = None
    permission_mode: str = ""
    condenser: Any = None
    """The condenser, as written in the file."""
    servers: tuple[str, ...] = ()
