"""`AgentFile`: an agent for delegation, as defined in its file."""

from __future__ import annotations

from typing import Any

import msgspec

from .condensers import AnyCondenser, read_condenser, summarizers
from .hooks import Hook
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
    hooks: tuple[Hook, ...] = ()
    max_steps: int | None = None
    max_cost: float | None = None
    permission_mode: str = ""
    condenser: Any = None
    """The condenser, as written in the file."""
    servers: tuple[str, ...] = ()


def model_condenser(file: AgentFile) -> AnyCondenser | None:
    """Return the condenser of a file if it calls a model of its own, else None."""
    found = read_condenser(file.condenser)
    return found if found is not None and summarizers(found) else None
