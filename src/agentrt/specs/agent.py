"""`Agent`: immutable configuration that is stored in the log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import force_setattr, replace

from ..errors import ConfigurationError
from .condensers import AnyCondenser, LLMSummarizingCondenser, as_condenser, summarizers
from .context import AgentContext
from .flow import InformationFlow
from .given import Given, Share
from .hooks import Hook
from .llm import INHERIT, LLM, AnyLLM, as_llm
from .mcp import MCPServer, as_servers
from .policies import BusyPolicy, ConfirmationPolicy, Limits, NeverConfirm
from .presets import PresetName, preset_of, unfolded
from .rules import PermissionRule
from .schemas import as_schema
from .stuck import Critic, StuckDetection
from .tool import AnyTool, ClientTool, Tool, as_tool

RULES = "rules"
"""The analyzer that always exists: fixed rules for commands, paths and networks."""

MODEL = "model"
"""The analyzer that takes the model's own ratings."""

DEFAULT_TOOLS = (Tool("terminal"), Tool("file_editor"), Tool("task_tracker"))


class _Thinking(Given, frozen=True):
    """The only field of an `Agent` that may be given without its name."""

    llm: AnyLLM


class Agent(_Thinking, frozen=True, kw_only=True, omit_defaults=True):
    """A model, its tools and its instructions; `think` and `finish` are always among the tools.

    Nobody is asked before an action unless `confirmation` says so, since a program may have no user to ask. With
    `ConfirmRisky()` a person confirms risky actions; `conversation.pending_confirmation` lists those that wait.

    A name may replace an `LLM`, and a name or a function a `Tool`. Raises `ConfigurationError` for an invalid value.
    """

    tools: tuple[Tool, ...] = DEFAULT_TOOLS
    description: str = ""
    """The purpose of the agent, shown to agents that may delegate to it."""
    system_prompt: str | None = None
    """Replaces the built-in system prompt when set; the content of `context` still follows."""
    context: AgentContext | None = None
    """Instructions besides the task. None: the instructions, skills, agents and memory of the workspace; in the command
    line and on a server also those of the user's home directory.
    """
    analyzer: str | tuple[str, ...] | None = None
    """Names of the security analyzers that rate actions ("rules", "model"); the highest rating counts. None: no
    analyzer, unless `confirmation` or `flow` needs ratings, which sets "rules".
    """
    confirmation: ConfirmationPolicy = NeverConfirm()
    rules: tuple[PermissionRule, ...] = ()
    """What is allowed, asked or denied whatever the rating."""
    flow: InformationFlow | None = None
    """Which actions need confirmation because untrusted content may have caused them; None: no such check."""
    hooks: tuple[Hook, ...] = ()
    condenser: AnyCondenser = LLMSummarizingCondenser()
    """How and when the view is shortened; a name stands for one of the runtime's own condensers."""
    stuck: StuckDetection | None = StuckDetection()
    """When the agent is stopped for repeating itself; None: never."""
    critic: Critic | None = None
    busy: BusyPolicy = BusyPolicy.ENQUEUE
    """How a message is treated that comes while the agent works."""
    mcp_servers: dict[str, MCPServer] = msgspec.field(default_factory=dict)
    """MCP servers (Model Context Protocol) whose tools the agent has, by name."""
    mcp_config: dict[str, Any] | None = None
    """MCP servers in the format of other programs, `{"mcpServers": {...}}`; they are moved to `mcp_servers`."""
    filter_tools_regex: str | None = None
    """A regular expression that the names of MCP tools must match from their beginning; None: all are offered."""
    tool_search: Share | None = 0.1
    """The share of the model's context window that the definitions of MCP tools may take. The tools of a server that
    would exceed it are not offered at first; the model finds them with the tool `tool_search`. None: all are offered.
    """
    client_tools: tuple[ClientTool, ...] = ()
    """Tools that the program, or the client of a server, executes. Agents that it delegates to do not have them."""
    agents: dict[str, Agent] = msgspec.field(default_factory=dict)
    """The agents that it may delegate to, by name; it may always delegate to a copy of itself. In one of them, the
    model "inherit" stands for the model of the delegating agent, and the tool "*" for its tools.
    """
    checkpoints: bool = True
    """Whether the files of the workspace are kept before and after actions that may change them, so that a rewind can
    restore them. Files are not kept in a home directory, or if there are too many.
    """
    limits: Limits = Limits()
    is_vouched_for: bool = True
    """Whether the user or the program wrote the agent. An agent from a repository needs confirmation at least as often
    as the agent that delegates to it.
    """
    embeddings: LLM | None = None
    """The embedding model by which `recall` finds events by their meaning, beside their words. None: by words alone,
    and no text is sent anywhere for a search.
    """
    output: dict[str, Any] | None = None
    """The structured output that `finish` must give besides words: a JSON schema of an object, or a type that has one,
    such as a struct, a dataclass or a pydantic model. None: only words.
    """

    if TYPE_CHECKING:  # what the fields are converted from; `tests/specs/test_signatures.py` compares the two

        def __init__(
            self,
            llm: AnyLLM | str,
            *,
            tools: Iterable[AnyTool] = ...,
            description: str = ...,
            system_prompt: str | None = ...,
            context: AgentContext | None = ...,
            analyzer: str | Iterable[str] | None = ...,
            confirmation: ConfirmationPolicy = ...,
            rules: Iterable[PermissionRule] = ...,
            flow: InformationFlow | None = ...,
            hooks: Iterable[Hook] = ...,
            condenser: AnyCondenser | str | None = ...,
            stuck: StuckDetection | None = ...,
            critic: Critic | None = ...,
            busy: BusyPolicy | str = ...,
            mcp_servers: Mapping[str, MCPServer | Mapping[str, Any]] = ...,
            mcp_config: Mapping[str, Any] | None = ...,
            filter_tools_regex: str | None = ...,
            tool_search: float | None = ...,
            client_tools: Iterable[ClientTool] = ...,
            agents: Mapping[str, Agent] = ...,
            checkpoints: bool = ...,
            limits: Limits = ...,
            is_vouched_for: bool = ...,
            embeddings: LLM | str | None = ...,
            output: Any = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        force_setattr(self, "llm", as_llm(self.llm))
        if isinstance(self.tools, list | tuple) and self.tools is not DEFAULT_TOOLS:
            force_setattr(self, "tools", unfolded(map(as_tool, self.tools)))
        force_setattr(self, "condenser", as_condenser(self.condenser))
        if isinstance(self.embeddings, str):
            force_setattr(self, "embeddings", LLM(self.embeddings))
        force_setattr(self, "mcp_servers", as_servers(self.mcp_servers))
        if self.mcp_config is not None:
            force_setattr(self, "mcp_servers", {**as_servers(self.mcp_config), **self.mcp_servers})
            force_setattr(self, "mcp_config", None)
        output = as_schema(self.output)
        force_setattr(self, "output", output)
        Given.__post_init__(self)
        force_setattr(self, "output", output)  # keeps the type that the schema was made from
        if self.filter_tools_regex is not None:
            try:
                re.compile(self.filter_tools_regex)
            except re.error as error:
                raise ConfigurationError(f"Agent(filter_tools_regex={self.filter_tools_regex!r}): {error}") from error
        asks = not isinstance(self.confirmation, NeverConfirm) or self.flow is not None
        if asks and not self.analyzer:
            force_setattr(self, "analyzer", RULES)

    @classmethod
    def preset(
        cls, name: PresetName | None = None, *, llm: AnyLLM | str, demonstration: bool = False, **fields: Any
    ) -> Agent:
        """Return an agent with the tools of a preset, and the given other fields.

        "default", "gpt5" (`apply_patch`) and "gemini" (its own file tools) suit families of models; None chooses one of
        them by the model. "planning" reads code and writes a plan, "codeact" acts by code and has an agent "browsing"
        use the web, "browsing" uses the web. `demonstration` adds an example of a whole task to the prompt of
        "codeact", for models that need one. Raises `ConfigurationError` for another name.
        """
        chosen = preset_of(name, as_llm(llm))
        if demonstration and not chosen.demonstration:
            raise ConfigurationError("Agent.preset(demonstration=True): only the preset 'codeact' has one")
        told = fields.get("context") or AgentContext()
        more = (told.system_message_suffix, chosen.told, chosen.demonstration if demonstration else "")
        suffix = "\n\n".join(filter(None, more))
        same = suffix == told.system_message_suffix
        context = fields.get("context") if same else replace(told, system_message_suffix=suffix)
        made: dict[str, Any] = {"tools": chosen.tools}
        if chosen.prompt is not None:
            made["system_prompt"] = chosen.prompt
        if chosen.agents:
            alike = {key: fields[key] for key in ("confirmation", "analyzer", "flow", "rules") if key in fields}
            made["agents"] = {
                key: cls.preset(preset, llm=LLM(INHERIT), description=description, **alike)
                for key, (preset, description) in chosen.agents.items()
            }
        return cls(**{**made, **fields, "context": context, "llm": llm})

    @property
    def analyzers(self) -> tuple[str, ...]:
        """The names of the analyzers, including "rules" if `flow` is set: it needs to know where an action leads."""
        named = (self.analyzer,) if isinstance(self.analyzer, str) else self.analyzer or ()
        return (*named, RULES) if self.flow is not None and RULES not in named else named

    @property
    def models(self) -> tuple[AnyLLM, ...]:
        """The agent's model, those of its condensers and its embedding model."""
        own = (self.llm, *summarizers(self.condenser))
        return own if self.embeddings is None else (*own, self.embeddings)


def replaced(agent: Agent, changes: Mapping[str, Any]) -> Agent:
    """Return the agent with some fields replaced, by JSON or by values; other names are left out.

    Raises `msgspec.ValidationError`.
    """
    from .shorthand import in_full  # needed by few

    known = {key: _builtins(value) for key, value in changes.items() if key in Agent.__struct_fields__}
    given = in_full(known, Agent)
    return msgspec.convert(msgspec.to_builtins(agent) | given, Agent)


def _builtins(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else msgspec.to_builtins(value)
