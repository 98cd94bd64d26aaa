"""`Skill`: what an agent can be told when it is needed, as a file says it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from .given import Given
from .mcp import MCPServer

SkillKind: TypeAlias = Literal["always", "listed", "keyword", "task", "path"]
Origin: TypeAlias = Literal["program", "project", "user", "plugin"]
"""Who wrote it: the program that made the agent, whoever wrote the repository, the user at home, or a plugin."""


class Skill(Given, frozen=True, kw_only=True, omit_defaults=True):
    """Instructions with a name. The fields are those of the Agent Skills format, and of OpenHands' older files.

    Source: https://agentskills.io/specification.
    """

    name: str
    description: str = ""
    body: str = ""
    """Markdown: what the model is told once the skill is activated."""
    path: str = ""
    """The file that it was read from; "" for one that a program made."""
    digest: str = ""
    """SHA-256 of that file, in hexadecimal."""
    license: str = ""
    compatibility: str = ""
    version: str = ""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    """The only tools that may be called from the activation to the end of the run; empty: all."""
    triggers: tuple[str, ...] = ()
    """Words of a user's message that activate it; one that begins with "/" is a task."""
    inputs: tuple[str, ...] = ()
    """What a task asks for: `${name}` in the body."""
    paths: tuple[str, ...] = ()
    """Patterns of files: the skill is activated when one of them is touched."""
    is_package: bool = False
    """Whether it is a directory with a SKILL.md, whose other files the model reads when it needs them."""
    model_may_invoke: bool = True
    origin: Origin = "program"
    servers: tuple[str, ...] = ()
    """The MCP servers that it needs, by name."""
    brought: dict[str, MCPServer] = msgspec.field(default_factory=dict)
    """Those that it brings: they are there once a person has agreed."""

    @property
    def kind(self) -> SkillKind:
        """What activates it: always there, listed for the model, or a word, a task or a path."""
        if self.paths:
            return "path"
        if any(trigger.startswith("/") for trigger in self.triggers):
            return "task"
        if self.triggers:
            return "keyword"
        return "listed" if self.is_package else "always"
