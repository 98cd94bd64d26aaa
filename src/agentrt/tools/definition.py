"""`ToolType`: a tool's implementation; `Tools`: an agent's set of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os.path import normpath
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from ..cancelling import Exited
from ..context.own_ratings import rated
from ..context.replies import DO_NOT_FIT, BadCall
from ..decisions import EVERYTHING, FILE
from ..errors import ConfigurationError, ToolMissing
from ..protocols import Observation, ToolContext, ToolExecutor
from ..specs import Edits, OnCrash, Tool, ToolAnnotations, ToolDefinition, WorkspaceSpec
from ..specs.content import sound
from ..specs.effects import Effects
from ..specs.flow import Label
from ..specs.given import converted, instance
from ..specs.schemas import Reader, is_type, misfit, reader_of, schema_of
from ..specs.tool import Same

Params: TypeAlias = Mapping[str, str | int | float | bool | None]


def _undeclared(action: Any, workspace: WorkspaceSpec) -> tuple[str, ...] | None:
    return None


def nothing(action: Any, workspace: WorkspaceSpec) -> Effects:
    """Return the `effects` of a tool that touches nothing."""
    return Effects()


_CHECKED: Mapping[str, Any] = {
    "name": Annotated[str, Meta(min_length=1)],
    "description": str,
    "annotations": ToolAnnotations,
    "on_crash": OnCrash,
    "holds_resource": bool,
    "labels": tuple[Label, ...],
    "same": Same | None,
    "headline": tuple[str, ...],
    "edits": Edits | None,
    "aliases": tuple[str, ...],
    "shell": str,
    "leaves": str,
    "harmless": bool,
    "ends_turn": bool,
    "delegates": bool,
    "invokes": str,
    "recalls": bool,
    "stands": bool,
    "looks": bool,
    "parts": dict[str, dict[str, str]],
}
"""The fields of `ToolType` that its `ToolDefinition` also has, with their types."""


@dataclass(frozen=True)
class ToolType:
    """A tool: its name and description, the type of its arguments, the factory of its executor, and its declarations.

    `action` is a struct, or another type whose values are JSON objects: a dataclass, a pydantic model.

    `effects` returns what a call will read, write, run and reach; the risk rating is based on that. Without `effects`,
    a call is rated by the paths, addresses and commands among its arguments, and at least as UNKNOWN, unless the
    annotations say that the tool only reads and that its world is closed.

    `resources` returns the keys that a call touches ("file:/a/b"); calls that share a key never run side by side. An
    empty tuple means that nothing is shared; None, the default, that the call runs alone, as does that of a tool with
    `ends_turn`. The other fields are those of `ToolDefinition`; `same` may be the name of an
    argument, and `headline` a single template.
    """

    name: str
    description: str
    action: type[Any]
    executor: Callable[[Params], ToolExecutor]
    annotations: ToolAnnotations = ToolAnnotations()
    on_crash: OnCrash = OnCrash.ASK
    holds_resource: bool = False
    resources: Callable[[Any, WorkspaceSpec], tuple[str, ...] | None] = _undeclared
    labels: tuple[Label, ...] = ()
    effects: Callable[[Any, WorkspaceSpec], Effects] | None = None
    same: Same | str | None = None
    headline: tuple[str, ...] | str = ()
    edits: Edits | None = None
    aliases: tuple[str, ...] = ()
    shell: str = ""
    leaves: str = ""
    harmless: bool = False
    ends_turn: bool = False
    delegates: bool = False
    invokes: str = ""
    recalls: bool = False
    stands: bool = False
    looks: bool = False
    parts: dict[str, dict[str, str]] = field(default_factory=dict, hash=False)
    also: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Other names of arguments, which models know from elsewhere, with the names here."""

    def __post_init__(self) -> None:
        """Convert and check the fields. Raises `ConfigurationError` for an invalid tool."""
        if isinstance(self.same, str):
            object.__setattr__(self, "same", Same(self.same))
        if isinstance(self.headline, str):
            object.__setattr__(self, "headline", (self.headline,))
        for name, kind in _CHECKED.items():
            object.__setattr__(self, name, converted(getattr(self, name), kind, "ToolType", name))
        for name in ("executor", "resources", "effects"):
            if not callable(getattr(self, name)) and (name != "effects" or self.effects is not None):
                raise ConfigurationError(f"ToolType({name}=...): expected a function")
        if not is_type(self.action):
            raise ConfigurationError("ToolType(action=...): expected a type, whose values are the arguments")
        if self.delegates and not _can_delegate(schema_of(self.action)):
            raise ConfigurationError(
                f"tool {self.name!r} delegates: its arguments need a text 'task' or 'prompt', and 'agent', if any"
            )

    @cached_property
    def definition(self) -> ToolDefinition:
        """The tool's definition for the model and the log."""
        declared: dict[str, Any] = {name: getattr(self, name) for name in _CHECKED}
        return ToolDefinition(parameters=msgspec.Raw(msgspec.json.encode(schema_of(self.action))), **declared)

    @cached_property
    def reader(self) -> Reader:
        """Parses arguments; converts "5" to 5 where a number is expected."""
        return reader_of(self.action)

    def read(self, arguments: msgspec.Raw) -> Any:
        """Return the arguments as this tool's action. Raises `msgspec.ValidationError`."""
        try:
            return self.reader(arguments)
        except msgspec.ValidationError:
            given = msgspec.json.decode(arguments)
            if not (isinstance(given, dict) and self.also.keys() & given.keys()):
                raise
            meant = {self.also.get(name, name): value for name, value in given.items()}
            return self.reader(msgspec.Raw(msgspec.json.encode(meant)))


@dataclass(frozen=True)
class DefinedTool(ToolType):
    """A tool whose definition was made elsewhere: by a server, a client, or the program that wrote a log.

    Its arguments are read as a `dict[str, Any]`, or not parsed if `action` is `msgspec.Raw`. Only those of a client's
    tool are checked here; otherwise the maker of the definition checks them.
    """

    defined: ToolDefinition | None = None

    @cached_property
    def definition(self) -> ToolDefinition:
        """The definition as it was made."""
        assert self.defined is not None
        return self.defined

    @cached_property
    def reader(self) -> Reader:
        """Accepts any JSON object."""
        return msgspec.Raw if self.action is msgspec.Raw else msgspec.json.Decoder(dict[str, Any]).decode

    def read(self, arguments: msgspec.Raw) -> Any:
        """Return the arguments; check those of a client's tool against its schema. Raises `msgspec.ValidationError`."""
        given = self.reader(arguments)
        if self.definition.client and (problem := misfit(msgspec.json.decode(self.definition.parameters), given)):
            raise msgspec.ValidationError(problem)
        return given


class Elsewhere:
    """The executor of a tool whose calls never run here."""

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        """Never called."""
        raise AssertionError("a call of this tool is not run here")

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""


def defined_tool(
    definition: ToolDefinition,
    executor: Callable[[], ToolExecutor],
    resources: Callable[[Any, WorkspaceSpec], tuple[str, ...] | None],
    action: type[Any] = dict[str, Any],
) -> DefinedTool:
    """Return a tool with this definition and executor."""
    return DefinedTool(
        name=definition.name,
        description=definition.description,
        action=action,
        executor=lambda params: executor(),
        annotations=definition.annotations,
        on_crash=definition.on_crash,
        resources=resources,
        labels=definition.labels,
        defined=definition,
    )


def _can_delegate(schema: dict[str, Any]) -> bool:
    properties, text = schema.get("properties", {}), "string"
    agent = properties.get("agent", properties.get("subagent_type", {"type": text})).get("type")
    named = [name for name in ("task", "prompt") if name in schema.get("required", ())]
    return bool(named) and properties[named[0]].get("type") == text and agent == text


class Tools:
    """The tools of one agent in one workspace. With `rated`, the model states how dangerous each call is.

    Raises `ToolMissing` if a tool has no implementation.
    """

    def __init__(
        self,
        specs: Iterable[Tool],
        types: Mapping[str, ToolType],
        workspace: WorkspaceSpec,
        *,
        rated: bool = False,
    ) -> None:
        self._types: dict[str, ToolType] = {}
        self._learned: dict[str, ToolType] = {}
        self._params: dict[str, Params] = {}
        self._workspace, self._rated = workspace, rated
        self._definitions: tuple[ToolDefinition, ...] | None = None
        self._known: tuple[ToolDefinition, ...] | None = None
        for spec in specs:
            if spec.name not in types:
                raise ToolMissing(spec.name, tuple(sorted(types)))
            self._types[spec.name] = types[spec.name]
            self._params[spec.name] = spec.params

    def learn(self, kinds: Iterable[ToolType]) -> None:
        """Add the tools of servers, which the log itself offers to the model."""
        self._learned.update({kind.name: kind for kind in kinds})
        self._known = None

    def offered(self, definition: ToolDefinition) -> ToolDefinition:
        """Return the definition of a server's tool that the model is offered."""
        return rated(definition) if self._rated else definition

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the agent's own tools."""
        return tuple(self._types)

    def _kind(self, name: str) -> ToolType | None:
        return self._types.get(name) or self._learned.get(name)

    def _there(self, name: str) -> ToolType:
        """Return a tool. Raises `BadCall` if it is not there any more."""
        kind = self._kind(name)
        if kind is None:
            raise BadCall(f"there is no tool {name!r}")
        return kind

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The agent's own tools as offered to the model. They are made on first use, because that takes a while and
        merely opening a conversation does not need them.
        """
        if self._definitions is None:
            made = (kind.definition for kind in self._types.values())
            self._definitions = tuple(rated(definition) for definition in made) if self._rated else tuple(made)
        return self._definitions

    @property
    def known(self) -> tuple[ToolDefinition, ...]:
        """The tools offered to the model, including the learned tools of servers."""
        if self._known is None:
            self._known = (*self.definitions, *(kind.definition for kind in self._learned.values()))
        return self._known

    def resources(self, name: str, arguments: msgspec.Raw) -> tuple[str, ...]:
        """Return the resource keys of a call. Raises `BadCall` if the call cannot run."""
        kind = self._kind(name)
        if kind is None:
            raise BadCall(f"unknown tool {name!r}. The tools are: {', '.join((*self._types, *self._learned))}.")
        parsed = self.parse(name, arguments)
        try:
            keys = (EVERYTHING,) if kind.ends_turn else kind.resources(parsed, self._workspace)
        except BadCall:
            raise
        except (Exception, SystemExit) as error:  # from code of a third party's tool
            raise BadCall(f"{name} cannot say what it touches: {_told(error)}") from error
        return (EVERYTHING,) if keys is None else keys

    def labels(self, name: str) -> tuple[Label, ...]:
        """Return the labels that a tool declares for its results."""
        return self._there(name).labels

    def annotations(self, name: str) -> ToolAnnotations:
        """Return the annotations of a tool."""
        return self._there(name).annotations

    def leaves(self, name: str) -> str:
        """Return the argument by which a call of a tool leaves what confines the others; "" if there is none."""
        kind = self._kind(name)
        return "" if kind is None else kind.leaves

    def declares_effects(self, name: str) -> bool:
        """Return whether a tool says what its calls do; otherwise they are rated by their arguments alone."""
        kind = self._kind(name)
        return kind is not None and kind.effects is not None

    def effects(self, name: str, arguments: msgspec.Raw) -> Effects | None:
        """Return the declared effects of a call; None if its tool declares none. Raises `BadCall` if the call cannot
        run.
        """
        kind = self._kind(name)
        if kind is None or kind.effects is None:
            return None
        parsed = self.parse(name, arguments)
        try:
            return instance(kind.effects(parsed, self._workspace), Effects, name, "effects")
        except (Exception, SystemExit) as error:  # from code of a third party's tool
            raise BadCall(f"{name} cannot say what it does: {_told(error)}") from error

    def changes(self, name: str, arguments: msgspec.Raw) -> tuple[str, ...] | None:
        """Return all files and directories that a call may change, as its tool declares; None if it does not say."""
        if not self._there(name).definition.may_write:
            return ()
        effects = self.effects(name, arguments)
        return None if effects is None or effects.runs else tuple(file.path for file in effects.files)

    def parse(self, name: str, arguments: msgspec.Raw) -> Any:
        """Return the arguments as the tool's action. Raises `BadCall` if they do not fit."""
        kind = self._there(name)
        try:
            return kind.read(arguments)
        except (Exception, SystemExit) as error:  # also from a third party's validator
            words = str(error) if isinstance(error, msgspec.ValidationError) else _told(error)
            shape = bytes(kind.definition.parameters).decode()
            raise BadCall(f"{DO_NOT_FIT.format(name)}{words}. Their schema is {shape}") from error

    def executor(self, name: str) -> ToolExecutor:
        """Return a new executor of a tool."""
        return self._there(name).executor(self._params.get(name, {}))


def _told(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        error = Exited(error.code)
    return sound(f"{type(error).__name__}: {error}")


def file_key(path: str, workspace: WorkspaceSpec) -> str:
    """Return the resource key of a file."""
    return f"{FILE}{normpath(Path(workspace.path, path))}"
