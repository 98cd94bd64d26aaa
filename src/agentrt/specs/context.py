"""`AgentContext`: an agent's instructions besides its task, and what was resolved from it, with sources."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from .agent_file import AgentFile
from .condensers import AnyCondenser
from .given import Given
from .hooks import Hook
from .mcp import MCPServer
from .rules import PermissionRule, Verdict
from .skill import Origin, Skill

SourceKind: TypeAlias = Literal[
    "instructions", "skill", "agent", "memory", "plugin", "hooks", "servers", "commands", "condenser"
]


class PluginSource(Given, frozen=True, omit_defaults=True):
    """The location of a plugin: a directory, a git address, `github:owner/repo`, or `NAME@MARKETPLACE`. The marketplace
    is a directory, an address or a file.
    """

    source: str
    ref: str = ""
    """The revision of a git address: a commit, tag or branch; "": the default of its server."""
    repo_path: str = ""
    """The directory within the repository."""


class AgentContext(Given, frozen=True, kw_only=True, omit_defaults=True):
    """An agent's instructions besides its task.

    It is resolved once, when a conversation begins, and kept in the log from then on.
    """

    system_message_prefix: str = ""
    """Text before the system prompt."""
    system_message_suffix: str = ""
    """Text after the system prompt."""
    user_message_prefix: str = ""
    """Text before each message of the user, as the model sees it."""
    user_message_suffix: str = ""
    skills: tuple[Skill, ...] = ()
    """The program's own skills; they take precedence over skills from files with the same name."""
    load_project_skills: bool = True
    """Whether to read the instructions, skills, agents and memory of the workspace and its repository."""
    load_user_skills: bool = False
    """Whether to read those of the user's home directory."""
    load_memory: bool = True
    """Whether to read the MEMORY.md files of the workspace and, with `load_user_skills`, of the home directory."""
    consolidate_memory: bool = False
    """Whether to note in the MEMORY.md files what later conversations should know. A separate agent does this in the
    background, once the conversation has finished and left memory; it has no other tool.
    """
    disabled_skills: tuple[str, ...] = ()
    preload_skills: tuple[str, ...] = ()
    """Names of skills whose texts are in the system prompt from the start."""
    plugins: tuple[PluginSource, ...] = ()
    """Plugins that are loaded from the start; a string stands for a `PluginSource` with that `source`."""
    current_datetime: str | bool = True
    """The date and time for the agent, a `datetime` or text. True: when the conversation begins. False: none."""

    if TYPE_CHECKING:  # what the fields are converted from

        def __init__(
            self,
            *,
            system_message_prefix: str = ...,
            system_message_suffix: str = ...,
            user_message_prefix: str = ...,
            user_message_suffix: str = ...,
            skills: Iterable[Skill] = ...,
            load_project_skills: bool = ...,
            load_user_skills: bool = ...,
            load_memory: bool = ...,
            consolidate_memory: bool = ...,
            disabled_skills: Iterable[str] = ...,
            preload_skills: Iterable[str] = ...,
            plugins: Iterable[PluginSource | str] = ...,
            current_datetime: str | bool | datetime = ...,
        ) -> None: ...

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
    """A source that could not be used, or only in part; `what` says why."""

    path: str
    what: str


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A text that is shown in full: the instructions of a repository, or a memory."""

    name: str
    """The name that the model sees."""
    text: str
    path: str = ""
    digest: str = ""
    origin: Origin = "project"


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts about the environment."""

    directory: str = ""
    platform: str = ""
    git_branch: str = ""
    datetime: str = ""


class ContextSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of an agent's instructions, with its source."""

    kind: SourceKind
    name: str
    origin: Origin = "project"
    path: str = ""
    digest: str = ""
    """SHA-256 of the file when it was read, in hexadecimal."""
    tokens: int = 0
    """The approximate number of tokens that it takes in every prompt; for an item shown on demand, once it is shown."""
    when: str = ""
    """When it is shown: "always", "listed", or what activates it."""
    missing: tuple[str, ...] = ()
    """Names in it of tools, models and MCP servers that are not available."""
    by: str = ""
    """The owner who last wrote the file through the server; "" if nobody did."""


class Offer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Programs of a project or a plugin, or a file that another owner wrote through the server; none has an effect
    before a person has agreed to it.
    """

    digest: str
    """SHA-256 of everything that would run, in hexadecimal. A change needs new consent."""
    name: str
    path: str = ""
    hooks: tuple[Hook, ...] = ()
    servers: dict[str, MCPServer] = msgspec.field(default_factory=dict)
    """MCP servers, by name."""
    skill: str = ""
    """The skill, in the file `path`, whose text has the `commands`."""
    commands: tuple[str, ...] = ()
    """The commands in a skill's text, in order."""
    tools: tuple[str, ...] = ()
    """The tools that the skill approves in advance."""
    rules: tuple[PermissionRule, ...] = ()
    """The permissions in a project's settings."""
    by: str = ""
    """The owner who wrote the instructions, the skill or the agent in the file `path`, to which the conversation's own
    owner may agree; "" for all else.
    """
    agent: str = ""
    """The agent, of a file, that the `hooks` and the `condenser` are for; "": the conversation's own."""
    condenser: AnyCondenser | None = None
    """A condenser that calls a model of its own."""
    pinned: tuple[tuple[str, str], ...] = ()
    """The files of the workspace that the commands name, each with its digest when a person was asked."""
    agreed: bool = False


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was read for an agent, with the texts."""

    facts: Facts = Facts()
    documents: tuple[Document, ...] = ()
    memory: tuple[Document, ...] = ()
    skills: tuple[Skill, ...] = ()
    """In order of precedence; each name once."""
    agents: tuple[AgentFile, ...] = ()
    hooks: tuple[Hook, ...] = ()
    """The project's hooks."""
    hooks_path: str = ""
    servers: dict[str, MCPServer] = msgspec.field(default_factory=dict)
    """The project's MCP servers."""
    servers_path: str = ""
    permissions: tuple[tuple[Verdict, str], ...] = ()
    """The entries of the permissions in the project's settings."""
    permissions_path: str = ""
    offers: tuple[Offer, ...] = ()
    """The programs of plugins."""
    plugins: tuple[ContextSource, ...] = ()
    digests: dict[str, str] = msgspec.field(default_factory=dict)
    """The SHA-256 of each file that was read, by path."""
    writers: dict[str, str] = msgspec.field(default_factory=dict)
    """The owners who wrote files through the server, by path."""
    problems: tuple[ContextProblem, ...] = ()
