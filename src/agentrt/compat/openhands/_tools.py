"""Tools as the OpenHands SDK defines them: an action, an observation, an executor, a definition, and a registry."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import anyio.from_thread
from pydantic import BaseModel, ConfigDict

from ... import specs
from ...errors import ConfigurationError
from ...protocols import Observation as NativeObservation
from ...protocols import ToolContext
from ...tools import ToolType
from ...tools.built_in import BUILT_IN
from ...tools.terminals.terminal import Terminal
from ...tools.terminals.terminal import TerminalAction as NativeTerminalAction
from ...tools.threads import in_a_thread
from ._content import Content, ImageContent, TextContent, native_content, text_of

if TYPE_CHECKING:
    from ._conversations import Conversation, ConversationState

A = TypeVar("A", bound="Action")
O = TypeVar("O", bound="Observation")  # noqa: E741 - the letter that goes with A

_context: ContextVar[ToolContext] = ContextVar("agentrt_compat_tool_context")
"""The context of the call that an executor runs for, in its thread."""


class Action(BaseModel):
    """The arguments of a tool: a subclass has its fields. One of an event has those of the call."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
        """Return the schema that the model sees: it has no more than the fields of the subclass."""
        schema = handler(core_schema)
        handler.resolve_ref_schema(schema).pop("additionalProperties", None)
        return schema


class Observation(BaseModel):
    """The result of a tool: a subclass may have fields of its own."""

    model_config = ConfigDict(extra="allow")

    content: list[Content] = []
    is_error: bool = False

    @classmethod
    def from_text(cls, text: str, is_error: bool = False, **fields: Any) -> Self:
        """Return a result with a text."""
        return cls(content=[TextContent(text=text)], is_error=is_error, **fields)

    @property
    def text(self) -> str:
        """The texts of the content."""
        return text_of(self.content)

    @property
    def to_llm_content(self) -> Sequence[TextContent | ImageContent]:
        """What the model sees. A subclass may say something else."""
        return self.content


OWN_FIELDS = "observation_fields"
"""The detail of a result that has the fields of a subclass of `Observation`."""


class _Details(NativeObservation, frozen=True, kw_only=True):
    """A result with the fields of a subclass of `Observation`."""

    observation_fields: dict[str, Any]


class ToolExecutor(Generic[A, O]):
    """Runs the calls of a tool, in a thread: a subclass defines `__call__`."""

    def __call__(self, action: A, conversation: Any = None) -> O:
        """Run a call."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what it holds. Called when the conversation ends."""


@dataclasses.dataclass(frozen=True)
class ToolAnnotations:
    """Hints about a tool's effects (the fields of the Model Context Protocol)."""

    title: str | None = None
    readOnlyHint: bool = False  # noqa: N815 - the protocol's names
    destructiveHint: bool = True  # noqa: N815
    idempotentHint: bool = False  # noqa: N815
    openWorldHint: bool = True  # noqa: N815

    def to_native(self) -> specs.ToolAnnotations:
        """Return them as agentrt has them."""
        return specs.ToolAnnotations(
            self.title or "", self.readOnlyHint, self.destructiveHint, self.idempotentHint, self.openWorldHint
        )


class ToolDefinition(Generic[A, O]):
    """A tool. A subclass is named after its class: `GrepTool` is "grep"."""

    name: ClassVar[str] = ""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if "name" not in vars(cls):
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__)
            cls.name = words.lower().removesuffix("_tool")

    def __init__(
        self,
        *,
        description: str = "",
        action_type: type[A] | None = None,
        observation_type: type[O] | None = None,
        executor: ToolExecutor[A, O] | None = None,
        annotations: ToolAnnotations | None = None,
    ) -> None:
        self.description, self.action_type, self.observation_type = description, action_type, observation_type
        self.executor, self.annotations = executor, annotations

    @classmethod
    def create(cls, *args: Any, **params: Any) -> Sequence[ToolDefinition[Any, Any]]:
        """Return the tools for a conversation. A subclass defines it, with `conv_state` as its first argument."""
        raise ConfigurationError(f"{cls.__name__} has no create(conv_state, ...), which returns its tools")

    def set_executor(self, executor: ToolExecutor[A, O]) -> Self:
        """Set the executor."""
        self.executor = executor
        return self

    def to_native(self, conversation: Conversation) -> ToolType | specs.Tool:
        """Return it as agentrt has it. Raises `ConfigurationError` if a part is missing."""
        executor, action_type = self.executor, self.action_type
        if executor is None or action_type is None:
            raise ConfigurationError(f"the tool {self.name!r} needs an action_type and an executor")
        return ToolType(
            name=self.name,
            description=self.description,
            action=action_type,
            executor=lambda params: _Executor(executor, conversation),
            annotations=(self.annotations or ToolAnnotations()).to_native(),
        )


class _Executor:
    """Runs a `ToolExecutor` in a thread."""

    def __init__(self, executor: ToolExecutor[Any, Any], conversation: Conversation) -> None:
        parameters = inspect.signature(executor).parameters
        self._arguments = (conversation,) if len(parameters) > 1 else ()
        self._executor = executor

    async def __call__(self, action: Any, context: ToolContext) -> NativeObservation:
        token = _context.set(context)
        try:
            result = await in_a_thread(lambda: self._executor(action, *self._arguments))
        finally:
            _context.reset(token)
        if not isinstance(result, Observation):
            raise TypeError(f"{type(self._executor).__name__} returned {type(result).__name__}, not an Observation")
        fields = result.model_dump(mode="json", exclude={"content", "is_error"})
        content = native_content(result.to_llm_content)
        return _Details(content=content, is_error=result.is_error, observation_fields=fields)

    async def aclose(self) -> None:
        await in_a_thread(self._executor.close)


class _BuiltInTool(ToolDefinition[Any, Any]):
    """A tool of agentrt."""

    _native: ClassVar[str] = ""
    """Its name in agentrt, if that is another one."""
    _renamed: ClassVar[dict[str, str]] = {}
    """The parameters that agentrt has, too, under its own names; others are dropped."""

    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__()
        self._params = {self._renamed[name]: value for name, value in params.items() if name in self._renamed}

    @classmethod
    def create(cls, conv_state: ConversationState | None = None, **params: Any) -> Sequence[ToolDefinition[Any, Any]]:
        """Return the tool."""
        return [cls(params)]

    def to_native(self, conversation: Conversation) -> ToolType | specs.Tool:
        """Return its name and parameters."""
        return specs.Tool(self._native or self.name, self._params)


class FileEditorTool(_BuiltInTool):
    """Views and edits files."""

    name = "file_editor"


class TaskTrackerTool(_BuiltInTool):
    """Keeps a plan."""

    name = "task_tracker"


class TaskToolSet(_BuiltInTool):
    """Has tasks done by agents of `register_agent`, each in a conversation of its own."""

    name = "task_tool_set"
    _native = "task"


class DelegateTool(_BuiltInTool):
    """Has tasks done by other agents: those of `register_agent`."""

    name = "delegate"


class TerminalAction(Action):
    """The arguments of `terminal`."""

    model_config = ConfigDict(extra="ignore")

    command: str
    is_input: bool = False
    timeout: float | None = None
    reset: bool = False


class TerminalObservation(Observation):
    """The result of `terminal`."""

    command: str | None = None
    exit_code: int | None = None
    timeout: bool = False


class TerminalExecutor(ToolExecutor[TerminalAction, TerminalObservation]):
    """A terminal of a conversation, for the executors of tools. It works in the conversation's workspace."""

    def __init__(
        self, working_dir: str | None = None, no_change_timeout_seconds: int | None = None, **rest: Any
    ) -> None:
        limit = {} if no_change_timeout_seconds is None else {"no_change_timeout": no_change_timeout_seconds}
        self.terminal = Terminal(limit)

    def __call__(self, action: TerminalAction, conversation: Any = None) -> TerminalObservation:
        """Run a command. Raises `ConfigurationError` outside of a tool's call."""
        try:
            context = _context.get()
        except LookupError:
            raise ConfigurationError("a TerminalExecutor runs commands for the executor of a tool, in a call") from None
        return anyio.from_thread.run(self._run, action, context)

    async def _run(self, action: TerminalAction, context: ToolContext) -> TerminalObservation:
        given = NativeTerminalAction(action.command, action.is_input, action.timeout, action.reset)
        result = await self.terminal(given, context)
        return TerminalObservation(
            content=[TextContent(text=block.text) for block in result.content if isinstance(block, specs.TextContent)],
            is_error=result.is_error,
            command=action.command,
            exit_code=result.exit_code,
            timeout=result.status.endswith("timeout"),
        )

    def close(self) -> None:
        """End its shells."""
        anyio.from_thread.run(self.terminal.aclose)


class TerminalTool(_BuiltInTool):
    """A shell that lasts; with an `executor`, the shell of that."""

    name = "terminal"
    _renamed: ClassVar[dict[str, str]] = {"no_change_timeout_seconds": "no_change_timeout"}

    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.executor: Any = params.get("executor")

    def to_native(self, conversation: Conversation) -> ToolType | specs.Tool:
        """Return its name and parameters, or the tool with the given executor."""
        if self.executor is None:
            return super().to_native(conversation)
        return dataclasses.replace(BUILT_IN[self.name], executor=lambda params: self.executor.terminal)


Factory = type[ToolDefinition[Any, Any]] | ToolDefinition[Any, Any] | Callable[..., Sequence[ToolDefinition[Any, Any]]]

_factories: dict[str, Factory] = {
    name: tool
    for tool in (TerminalTool, FileEditorTool, TaskTrackerTool, TaskToolSet, DelegateTool)
    for name in (tool.name, tool.__name__)
}


def register_tool(name: str, factory: Factory) -> None:
    """Give a name to a tool: to a subclass of `ToolDefinition`, to one of them, or to a function of `conv_state` that
    returns several.
    """
    _factories[name] = factory


def native_tools(name: str, params: dict[str, Any], conversation: Conversation) -> list[ToolType | specs.Tool]:
    """Return the tools that a name stands for; a name that was not registered is one of agentrt's tools."""
    factory = _factories.get(name)
    if factory is None:
        return [specs.Tool(name, params)]
    if isinstance(factory, ToolDefinition):
        return [factory.to_native(conversation)]
    create: Any = getattr(factory, "create", factory)
    return [definition.to_native(conversation) for definition in create(conv_state=conversation.state, **params)]
