"""`Agent` and where it works: frozen configuration that the log carries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import force_setattr, replace

from ..errors import ConfigurationError
from .condensers import AnyCondenser, LLMSummarizingCondenser, as_condenser, summarizers
from .context import AgentContext
from .flow import InformationFlow
from .given import Given, Share
from .hooks import Hook
from .llm import AnyLLM, as_llm
from .mcp import MCPServer, as_servers
from .policies import BusyPolicy, ConfirmationPolicy, Limits, NeverConfirm
from .presets import PresetName, preset_of, unfolded
from .rules import PermissionRule
from .schemas import as_schema
from .stuck import Critic, StuckDetection
from .tool import ClientTool, Tool, as_tool

RULES = "rules"
"""The analyzer that there is always: fixed rules for commands, paths and networks."""

DEFAULT_TOOLS = (Tool("terminal"), Tool("file_editor"), Tool("task_tracker"))


class Agent(Given, frozen=True, kw_only=True, omit_defaults=True):
    """A model, its tools and its instructions; `think` and `finish` are always among the tools.

    Nobody is asked before an action unless `confirmation` says so: a program has nobody to ask. `ConfirmRisky()` has a
    person asked about what is risky, and `conversation.pending_confirmation` is what waits then.

    In the place of an `LLM` its name will do, and in that of a `Tool` its name or a function. Raises
    `ConfigurationError` for a value that cannot be.
    """

    llm: AnyLLM
    tools: tuple[Tool, ...] = DEFAULT_TOOLS
    description: str = ""
    """What it is for, as one that may delegate to it is told."""
    system_prompt: str | None = None
    """Replaces the built-in one when set; what `context` brings still follows."""
    context: AgentContext | None = None
    """What it is told besides its task; None: the instructions, skills, agents and memory of the workspace, and those
    of the user's home directory in the command line and on a server."""
    analyzer: str | tuple[str, ...] | None = None
    """Names of the security analyzers that rate actions ("rules", "model"), of several the highest rating; None: none,
    unless something below asks for ratings, which sets "rules"."""
    confirmation: ConfirmationPolicy = NeverConfirm()
    rules: tuple[PermissionRule, ...] = ()
    """What is allowed, asked or denied whatever the rating."""
    flow: InformationFlow | None = None
    """Whether what untrusted content may have caused is asked about; None: no."""
    hooks: tuple[Hook, ...] = ()
    condenser: AnyCondenser = LLMSummarizingCondenser()
    """Who makes its view shorter, and when; a name stands for one of the runtime's own."""
    stuck: StuckDetection | None = StuckDetection()
    """When it is stopped for repeating itself; None: never."""
    critic: Critic | None = None
    busy: BusyPolicy = BusyPolicy.ENQUEUE
    """What a message does that comes while it works."""
    mcp_servers: dict[str, MCPServer] = msgspec.field(default_factory=dict)
    """Servers of the Model Context Protocol whose tools it has, by their names."""
    mcp_config: dict[str, Any] | None = None
    """The same as other programs' files have it, `{"mcpServers": {...}}`; they are in `mcp_servers` then."""
    filter_tools_regex: str | None = None
    """What the names of servers' tools must match from their beginning; None: all are offered."""
    tool_search: Share | None = 0.1
    """Of the model's window, what the definitions of servers' tools may take. Those of a server with which it would be
    more are found with the tool `tool_search`, and not offered before; None: all are offered."""
    client_tools: tuple[ClientTool, ...] = ()
    """Tools that the program, or the client of a server, executes. Those that it delegates to have none of them."""
    agents: dict[str, Agent] = msgspec.field(default_factory=dict)
    """Those that it may delegate to, by name; it may always delegate to one like itself. The model "inherit" of one of
    them stands for the model of the agent that delegates, and the tool "*" for its tools."""
    checkpoints: bool = True
    """Whether the files of the workspace are kept as they were before and after what may change them, so that a rewind
    can bring them back. They are not in a home directory, or where there are too many."""
    limits: Limits = Limits()
    is_vouched_for: bool = True
    """Whether the user or the program wrote it. One that comes from a repository is asked about at least as often as
    the agent that delegates to it."""
    output: dict[str, Any] | None = None
    """What `finish` must give, besides words: a JSON schema of an object, or a type that has one, such as a struct, a
    dataclass or a pydantic model; None: only words."""

    def __post_init__(self) -> None:
        force_setattr(self, "llm", as_llm(self.llm))
        if isinstance(self.tools, list | tuple) and self.tools is not DEFAULT_TOOLS:
            force_setattr(self, "tools", unfolded(map(as_tool, self.tools)))
        force_setattr(self, "condenser", as_condenser(self.condenser))
        force_setattr(self, "mcp_servers", as_servers(self.mcp_servers))
        if self.mcp_config is not None:
            force_setattr(self, "mcp_servers", {**as_servers(self.mcp_config), **self.mcp_servers})
            force_setattr(self, "mcp_config", None)
        output = as_schema(self.output)
        force_setattr(self, "output", output)
        Given.__post_init__(self)
        force_setattr(self, "output", output)  # the type that it was made of stays known
        if self.filter_tools_regex is not None:
            try:
                re.compile(self.filter_tools_regex)
            except re.error as error:
                raise ConfigurationError(f"Agent(filter_tools_regex={self.filter_tools_regex!r}): {error}") from error
        asks = not isinstance(self.confirmation, NeverConfirm) or self.flow is not None
        if asks and not self.analyzer:
            force_setattr(self, "analyzer", RULES)

    @classmethod
    def preset(cls, name: PresetName | None = None, *, llm: AnyLLM | str, **fields: Any) -> Agent:
        """An agent with the tools of a preset, and other fields as they are given.

        "default", "gpt5" (`apply_patch`) and "gemini" (its own file tools) suit families of models; None chooses among
        them by the model. "planning" looks and writes a plan, "codeact" works with code, "browsing" on the web. Raises
        `ConfigurationError` for another name.
        """
        chosen = preset_of(name, as_llm(llm))
        told = fields.get("context") or AgentContext()
        suffix = "\n\n".join(filter(None, (told.system_message_suffix, chosen.told)))
        context = replace(told, system_message_suffix=suffix) if chosen.told else fields.get("context")
        return cls(**{"tools": chosen.tools, **fields, "context": context, "llm": llm})

    @property
    def analyzers(self) -> tuple[str, ...]:
        """The names of the analyzers; information flow needs to know where an action leads, which the rules tell."""
        named = (self.analyzer,) if isinstance(self.analyzer, str) else self.analyzer or ()
        return (*named, RULES) if self.flow is not None and RULES not in named else named

    @property
    def models(self) -> tuple[AnyLLM, ...]:
        """Its model, and those of its condensers."""
        return (self.llm, *summarizers(self.condenser))


def replaced(agent: Agent, changes: Mapping[str, Any]) -> Agent:
    """The agent with other values of some fields, as JSON or as they are. Raises `msgspec.ValidationError`."""
    fields = msgspec.to_builtins(agent) | {key: _builtins(value) for key, value in changes.items()}
    return msgspec.convert(fields, Agent)


def _builtins(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else msgspec.to_builtins(value)
