"""`AgentContext`: what an agent is told besides its task; and what that came to, with its sources."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from .agent_file import AgentFile
from .given import Given
from .hooks import Hook
from .mcp import MCPServer
from .skill import Origin, Skill

SourceKind: TypeAlias = Literal["instructions", "skill", "agent", "memory", "plugin", "hooks", "servers"]


class PluginSource(Given, frozen=True, omit_defaults=True):
    """Where a plugin is: a directory, a git address, `github:owner/repo`, or `NAME@MARKETPLACE`, whose marketplace is
    the directory, address or file of one.
    """

    source: str
    ref: str = ""
    """The revision of a git address: a commit, tag or branch; "": what its server gives."""
    repo_path: str = ""
    """The directory within it."""


class AgentContext(Given, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent is told besides its task.

    It is resolved once, when a conversation begins, and stands in the log from then on.
    """

    system_message_prefix: str = ""
    """Stands before the system prompt."""
    system_message_suffix: str = ""
    """Stands after it."""
    user_message_prefix: str = ""
    """Stands before each message of the user, as the model sees it."""
    user_message_suffix: str = ""
    skills: tuple[Skill, ...] = ()
    """Skills of the program's own; they come before those of files with the same name."""
    load_project_skills: bool = True
    """Whether the instructions, skills, agents and memory of the workspace and its repository are read."""
    load_user_skills: bool = False
    """Whether those of the user's home directory are read."""
    load_memory: bool = True
    """Whether the files MEMORY.md are read, of the workspace and, with `load_user_skills`, of the home directory."""
    consolidate_memory: bool = False
    """Whether what later conversations should know is noted in the files MEMORY.md when this one leaves memory and has
    finished: by an agent of its own, in the background, that has no other tool.
    """
    disabled_skills: tuple[str, ...] = ()
    preload_skills: tuple[str, ...] = ()
    """Skills whose texts stand in the system prompt from the start, by name."""
    plugins: tuple[PluginSource, ...] = ()
    """Plugins that are loaded from the start; in the place of a `PluginSource` its `source` alone will do."""
    current_datetime: str | bool = True
    """The date and time that it is told, a `datetime` or as text; True: when the conversation begins, False: none."""

    def __post_init__(self) -> None:
        given: Any = self.current_datetime
        if isinstance(given, datetime):
            force_setattr(self, "current_datetime", given.isoformat(timespec="minutes"))
        if isinstance(self.plugins, list | tuple):
            force_setattr(
                self, "plugins", tuple(PluginSource(one) if isinstance(one, str) else one for one in self.plugins)
            )
        Given.__post_init__(self)


class ContextProblem(msgspec.Struct, frozen=True):
    """What could not be used, or only in part, and why."""

    path: str
    what: str


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A text that is shown whole: the instructions of a repository, or a memory."""

    name: str
    """How the model sees it named."""
    text: str
    path: str = ""
    digest: str = ""
    origin: Origin = "project"


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts of the place."""

    directory: str = ""
    platform: str = ""
    git_branch: str = ""
    datetime: str = ""


class ContextSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that an agent is told, and where it came from."""

    kind: SourceKind
    name: str
    origin: Origin = "project"
    path: str = ""
    digest: str = ""
    """SHA-256 of the file when it was read, in hexadecimal."""
    tokens: int = 0
    """About how many tokens it takes in every prompt; of one that is shown when it is needed, once it is."""
    when: str = ""
    """When it is shown: "always", "listed", or what activates it."""
    missing: tuple[str, ...] = ()
    """The tools, models and MCP servers that it names and that are not available."""


class Offer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Programs that a project or a plugin brings: none runs before a person has agreed to it."""

    digest: str
    """SHA-256 of all that would run, in hexadecimal: a change asks again."""
    name: str
    path: str = ""
    hooks: tuple[Hook, ...] = ()
    servers: dict[str, MCPServer] = msgspec.field(default_factory=dict)
    """MCP servers, by name."""
    agreed: bool = False


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """What was read for an agent, with the texts."""

    facts: Facts = Facts()
    documents: tuple[Document, ...] = ()
    memory: tuple[Document, ...] = ()
    skills: tuple[Skill, ...] = ()
    """Those that come first, first; each name once."""
    agents: tuple[AgentFile, ...] = ()
    hooks: tuple[Hook, ...] = ()
    """Those of the project."""
    hooks_path: str = ""
    servers: dict[str, MCPServer] = msgspec.field(default_factory=dict)
    """Those of the project."""
    servers_path: str = ""
    offers: tuple[Offer, ...] = ()
    """What plugins bring."""
    plugins: tuple[ContextSource, ...] = ()
    problems: tuple[ContextProblem, ...] = ()
