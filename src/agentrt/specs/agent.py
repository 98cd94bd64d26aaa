"""`Agent` and where it works: frozen configuration that the log carries."""

from __future__ import annotations

from typing import Any

import msgspec

from .llm import AnyLLM
from .policies import ConfirmationPolicy, Limits, NeverConfirm
from .tool import Tool

DEFAULT_TOOLS = (Tool("terminal"), Tool("file_editor"), Tool("task_tracker"))


class Agent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model, its tools and its instructions; `think` and `finish` are always among the tools."""

    llm: AnyLLM
    tools: tuple[Tool, ...] = DEFAULT_TOOLS
    system_prompt: str | None = None
    """Replaces the built-in one when set."""
    analyzer: str | None = None
    """Name of the security analyzer that rates actions ("rules"); None rates nothing."""
    confirmation: ConfirmationPolicy = NeverConfirm()
    limits: Limits = Limits()
    output: dict[str, Any] | None = None
    """JSON schema of the object that `finish` must give, as `output_schema(YourStruct)` makes it; None: only words."""


class LocalWorkspace(msgspec.Struct, frozen=True, tag="local"):
    """A directory of this machine; `path` is absolute."""

    path: str
