"""`Skill`: instructions that an agent gets on demand, as defined in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from .given import Given
from .mcp import MCPServer

SkillKind: TypeAlias = Literal["always", "listed", "keyword", "task", "path"]
Origin: TypeAlias = Literal["program", "project", "user", "plugin"]
"""The author: the program that made the agent, the author of the repository, the user at home, or a plugin."""


class Skill(Given, frozen=True, kw_only=True, omit_defaults=True):
    """Named instructions. The fields are those of the Agent Skills format, and of OpenHands' older files.

    Source: https://agentskills.io/specification.
    """

    name: str
    description: str = ""
    body: str = ""
    """Markdown text for the model once the skill is activated."""
    path: str = ""
    """The file that it was read from; "" for a skill made by a program."""
    digest: str = ""
    """SHA-256 of that file, in hexadecimal."""
    license: str = ""
    compatibility: str = ""
    version: str = ""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    """Tools whose calls need no confirmation from the activation to the end of the run. In a skill of a repository or a
    plugin this needs a person's consent.
    """
    disallowed_tools: tuple[str, ...] = ()
    """Tools that may not be called from the activation to the end of the run."""
    triggers: tuple[str, ...] = ()
    """Words in a user's message that activate it. A trigger that begins with "/" makes it a task."""
    inputs: tuple[str, ...] = ()
    """The parameters of a task: `${name}` in the body."""
    paths: tuple[str, ...] = ()
    """File patterns; the skill is activated when a matching file is touched."""
    is_package: bool = False
    """Whether it is a directory with a SKILL.md, whose other files the model reads when it needs them."""
    model_may_invoke: bool = True
    origin: Origin = "program"
    servers: tuple[str, ...] = ()
    """The MCP servers that it needs, by name."""
    brought: dict[str, MCPServer] = msgspec.field(default_factory=dict)
    """The MCP servers that it brings, available once a person has agreed."""

    if TYPE_CHECKING:  # what the fields are converted from

        def __init__(
            self,
            *,
            name: str,
            description: str = ...,
            body: str = ...,
            path: str = ...,
            digest: str = ...,
            license: str = ...,
            compatibility: str = ...,
            version: str = ...,
            metadata: Mapping[str, Any] = ...,
            allowed_tools: Iterable[str] = ...,
            disallowed_tools: Iterable[str] = ...,
            triggers: Iterable[str] = ...,
            inputs: Iterable[str] = ...,
            paths: Iterable[str] = ...,
            is_package: bool = ...,
            model_may_invoke: bool = ...,
            origin: Origin = ...,
            servers: Iterable[str] = ...,
            brought: Mapping[str, MCPServer] = ...,
        ) -> None: ...

    @property
    def is_foreign(self) -> bool:
        """Whether the author of a repository or of a plugin wrote it: its programs run only with a person's consent."""
        return self.origin in ("project", "plugin")

    @property
    def kind(self) -> SkillKind:
        """How it is activated: always, by the model from a list, or by a word, a task or a path."""
        if self.paths:
            return "path"
        if any(trigger.startswith("/") for trigger in self.triggers):
            return "task"
        if self.triggers:
            return "keyword"
        return "listed" if self.is_package else "always"
