"""Models, agents and their instructions, with the constructors of the OpenHands SDK."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import msgspec

from ... import specs
from ...specs import Limits, StuckDetection
from ...specs.given import CheckedStruct
from ...tools.built_in import DELEGATING
from ...usage import Spending, total
from ._checking import Checked
from ._tools import FileEditorTool, TaskTrackerTool, TerminalTool, native_tools

if TYPE_CHECKING:
    from ._conversations import Conversation

_RENAMED = {
    "service_id": "usage_id",
    "extended_thinking_budget": "thinking_budget",
    "litellm_extra_body": "extra_body",
}
_DROPPED = frozenset(
    (
        "drop_params",
        "modify_params",
        "log_completions",
        "log_completions_folder",
        "retry_multiplier",
        "disable_stop_word",
    )
)
"""The arguments of an LLM that have no effect here: what they are for is always so, or is in the log."""


class TokenUsage(msgspec.Struct, frozen=True):
    """Tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


class Metrics(msgspec.Struct, frozen=True):
    """The usage of model calls; the cost is in USD."""

    accumulated_cost: float = 0.0
    accumulated_token_usage: TokenUsage = TokenUsage()

    @classmethod
    def of(cls, spending: Spending) -> Metrics:
        """Return the metrics of agentrt's sum."""
        return cls(spending.cost, TokenUsage(*msgspec.structs.astuple(spending.usage)))


class LLM(metaclass=Checked):
    """A model. A key is a str or a `SecretStr`; the log has a name that stands for it."""

    def __init__(self, model: str, *, api_key: Any = None, base_url: str | None = None, **settings: Any) -> None:
        self._given = {"model": model, "api_key": api_key, "base_url": base_url, **settings}
        kept = {_RENAMED.get(name, name): value for name, value in settings.items() if name not in _DROPPED}
        if kept.pop("disable_vision", None):
            kept["vision"] = False
        kept = {name: value for name, value in kept.items() if value is not None}
        self.native = specs.LLM(model, api_key=api_key, base_url=base_url, **kept)
        self.conversations: WeakSet[Conversation] = WeakSet()
        """The open conversations that use it."""
        self.closed = Spending()
        """Its usage in those that were closed."""

    def __repr__(self) -> str:
        return repr(self.native)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.native.model

    @property
    def usage_id(self) -> str:
        """The name under which its usage is added up."""
        return self.native.usage_id

    @property
    def metrics(self) -> Metrics:
        """Its usage in all conversations."""
        used = (conversation.spending.get(self.usage_id, Spending()) for conversation in self.conversations)
        return Metrics.of(total((self.closed, *used)))

    def leave(self, conversation: Conversation) -> None:
        """Keep what a conversation has used that is being closed."""
        if conversation in self.conversations:
            self.closed += conversation.spending.get(self.usage_id, Spending())
            self.conversations.discard(conversation)

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> LLM:
        """Return a model with some arguments changed."""
        return LLM(**{**self._given, **(update or {})})


class Tool(msgspec.Struct, frozen=True, metaclass=CheckedStruct):
    """A tool of an agent, by name."""

    name: str
    params: dict[str, Any] = {}


class KeywordTrigger(msgspec.Struct, frozen=True, kw_only=True, metaclass=CheckedStruct):
    """Words in a user's message that activate a skill."""

    keywords: list[str]


class TaskTrigger(msgspec.Struct, frozen=True, kw_only=True, metaclass=CheckedStruct):
    """Names of a task, each with "/" before it."""

    triggers: list[str]


class Skill(msgspec.Struct, frozen=True, kw_only=True, metaclass=CheckedStruct):
    """Instructions: always in the prompt, or with a `trigger` when a message activates them."""

    name: str
    content: str
    trigger: KeywordTrigger | TaskTrigger | None = None
    source: str | None = None
    description: str | None = None

    def to_native(self) -> specs.Skill:
        """Return it as agentrt has it."""
        triggers = () if self.trigger is None else msgspec.structs.astuple(self.trigger)[0]
        return specs.Skill(
            name=self.name,
            body=self.content,
            triggers=tuple(triggers),
            path=self.source or "",
            description=self.description or "",
        )


class AgentContext(metaclass=Checked):
    """Instructions besides the task. Public skills are not loaded: a program names what is fetched for it."""

    def __init__(
        self,
        *,
        skills: Sequence[Skill] = (),
        system_message_suffix: str | None = None,
        user_message_suffix: str | None = None,
        load_user_skills: bool = False,
        load_public_skills: bool = False,
        load_project_skills: bool = False,
        secrets: Mapping[str, Any] | None = None,
        current_datetime: Any = True,
    ) -> None:
        if load_public_skills:
            logging.getLogger(__name__).warning(
                "AgentContext(load_public_skills=True): public skills are not loaded; name the plugin that has them"
            )
        self.secrets = dict(secrets or {})
        self.native = specs.AgentContext(
            skills=tuple(skill.to_native() for skill in skills),
            system_message_suffix=system_message_suffix or "",
            user_message_suffix=user_message_suffix or "",
            load_user_skills=load_user_skills,
            load_project_skills=load_project_skills,
            load_memory=load_project_skills,
            current_datetime=False if current_datetime is None else current_datetime,
        )


class LLMSummarizingCondenser(metaclass=Checked):
    """Replaces the oldest part of the view with a summary."""

    def __init__(self, *, llm: LLM | None = None, **settings: Any) -> None:
        self.llm = llm
        self.native = specs.LLMSummarizingCondenser(llm=None if llm is None else llm.native, **settings)


class Agent(metaclass=Checked):
    """A model, its tools and its instructions; `think` and `finish` are always among the tools."""

    def __init__(
        self,
        *,
        llm: LLM,
        tools: Sequence[Tool] = (),
        agent_context: AgentContext | None = None,
        mcp_config: dict[str, Any] | None = None,
        filter_tools_regex: str | None = None,
        condenser: LLMSummarizingCondenser | None = None,
        system_prompt: str | None = None,
        tool_concurrency_limit: int | None = None,
        include_default_tools: Sequence[str] = (),
    ) -> None:
        self.llm, self.tools = llm, list(tools)
        self.agent_context, self.condenser = agent_context, condenser
        self._tool_concurrency = tool_concurrency_limit
        self._fields: dict[str, Any] = {
            "mcp_config": mcp_config or None,
            "filter_tools_regex": filter_tools_regex,
            "system_prompt": system_prompt,
        }

    @property
    def models(self) -> tuple[LLM, ...]:
        """Its model, and that of its condenser."""
        other = self.condenser.llm if self.condenser is not None else None
        return (self.llm,) if other is None else (self.llm, other)

    def to_native(
        self, conversation: Conversation, *, max_steps: int, stuck: bool, above: tuple[str, ...] = ()
    ) -> specs.Agent:
        """Return it as agentrt has it; if it delegates, with the agents of `register_agent` that are not `above` it."""
        tools = [made for tool in self.tools for made in native_tools(tool.name, dict(tool.params), conversation)]
        for llm in self.models:
            llm.conversations.add(conversation)
        limits = Limits(max_steps=max_steps)
        if self._tool_concurrency is not None:
            limits = msgspec.structs.replace(limits, tool_concurrency=self._tool_concurrency)
        fields = dict(self._fields)
        if self.condenser is not None:
            fields["condenser"] = self.condenser.native
        if any(getattr(tool, "name", "") in DELEGATING for tool in tools):
            fields["agents"] = {
                name: msgspec.structs.replace(
                    make(self.llm).to_native(conversation, max_steps=max_steps, stuck=stuck, above=(*above, name)),
                    description=description,
                )
                for name, (make, description) in _agents.items()
                if name not in above
            }
        return specs.Agent(
            self.llm.native,
            tools=tuple(tools),
            context=(self.agent_context or AgentContext()).native,
            stuck=StuckDetection() if stuck else None,
            limits=limits,
            **fields,
        )


_agents: dict[str, tuple[Callable[[LLM], Agent], str]] = {}


def register_agent(name: str, factory_func: Callable[[LLM], Agent], description: str = "") -> None:
    """Give a name to an agent that others may delegate to. The function gets their model."""
    _agents[name] = (factory_func, description)


def get_default_tools(enable_browser: bool = False) -> list[Tool]:
    """Return the tools of the default agent."""
    tools = [Tool(name) for name in (TerminalTool.name, FileEditorTool.name, TaskTrackerTool.name)]
    return [*tools, Tool("browse")] if enable_browser else tools


def get_default_agent(llm: LLM, cli_mode: bool = False) -> Agent:
    """Return an agent with the default tools; with the browser, unless in `cli_mode`."""
    return Agent(llm=llm, tools=get_default_tools(enable_browser=not cli_mode))
