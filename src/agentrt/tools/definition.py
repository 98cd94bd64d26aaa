"""`ToolType`: a tool's implementation. `@tool` makes one of an async function; `Tools` is an agent's set of them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os.path import normpath
from pathlib import Path
from typing import Any, TypeAlias, get_type_hints, overload

import msgspec

from ..context.own_ratings import rated
from ..context.replies import BadCall
from ..errors import ConfigurationError, ToolMissing
from ..protocols import Observation, ToolContext, ToolExecutor
from ..specs import OnCrash, Tool, ToolAnnotations, ToolDefinition, Workspace
from ..specs.content import text
from ..specs.flow import Label

Params: TypeAlias = Mapping[str, str | int | float | bool | None]


def _undeclared(action: Any, workspace: Workspace) -> tuple[str, ...] | None:
    return None


@dataclass(frozen=True)
class ToolType:
    """A tool: its name and description, the struct of its arguments, and how its executor is made.

    `resources` gives the keys that a call touches ("file:/a/b"); calls that share one never run side by side. None
    means that calls of this tool wait for each other, an empty tuple that nothing is shared. `labels` say where its
    results come from, when nobody vouches for what they say.
    """

    name: str
    description: str
    action: type[msgspec.Struct]
    executor: Callable[[Params], ToolExecutor]
    annotations: ToolAnnotations = ToolAnnotations()
    on_crash: OnCrash = OnCrash.ASK
    holds_resource: bool = False
    resources: Callable[[Any, Workspace], tuple[str, ...] | None] = _undeclared
    labels: tuple[Label, ...] = ()

    @cached_property
    def definition(self) -> ToolDefinition:
        """The tool as the model sees it."""
        return ToolDefinition(
            name=self.name,
            description=self.description,
            parameters=msgspec.Raw(msgspec.json.encode(schema(self.action))),
            annotations=self.annotations,
            on_crash=self.on_crash,
            holds_resource=self.holds_resource,
            labels=self.labels,
        )

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        """Decodes arguments, turning "5" into 5 where a number is meant."""
        return msgspec.json.Decoder(self.action, strict=False)

    def read(self, arguments: msgspec.Raw) -> Any:
        """The arguments as this tool's action. Raises `msgspec.ValidationError`."""
        return self.decoder.decode(arguments)


def schema(action: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema (2020-12) of a struct, as one object with its definitions inside."""
    (_,), components = msgspec.json.schema_components([action], ref_template="#/$defs/{name}")
    top = components.pop(action.__name__)
    for said_elsewhere in ("title", "description"):
        top.pop(said_elsewhere, None)
    top.setdefault("required", [])
    return {**top, "$defs": components} if components else top


class _FunctionExecutor:
    def __init__(self, function: Callable[..., Awaitable[Any]]) -> None:
        self._function = function

    async def __call__(self, action: msgspec.Struct, context: ToolContext) -> Observation:
        result = await self._function(**{name: getattr(action, name) for name in action.__struct_fields__})
        if isinstance(result, Observation):
            return result
        shown = result if isinstance(result, str) else msgspec.json.encode(result).decode()
        return Observation(content=text(shown))

    async def aclose(self) -> None:
        return None


@overload
def tool(function: Callable[..., Awaitable[Any]]) -> ToolType: ...
@overload
def tool(
    *, name: str | None = None, annotations: ToolAnnotations = ..., on_crash: OnCrash = ...
) -> Callable[[Callable[..., Awaitable[Any]]], ToolType]: ...
def tool(
    function: Callable[..., Awaitable[Any]] | None = None,
    *,
    name: str | None = None,
    annotations: ToolAnnotations = ToolAnnotations(),
    on_crash: OnCrash = OnCrash.ASK,
) -> ToolType | Callable[[Callable[..., Awaitable[Any]]], ToolType]:
    """Make a tool of an async function: its signature becomes the schema, its docstring the description.

    The function returns a string, an `Observation`, or anything that msgspec encodes as JSON. Describe a parameter with
    `Annotated[str, msgspec.Meta(description="...")]`. Raises `ConfigurationError` for a function that cannot be one.
    """

    def make(function: Callable[..., Awaitable[Any]]) -> ToolType:
        called = name or function.__name__
        description = inspect.getdoc(function)
        if not inspect.iscoroutinefunction(function):
            raise ConfigurationError(f"tool {called!r} must be an async function")
        if not description:
            raise ConfigurationError(f"tool {called!r} needs a docstring: it is what the model reads")
        return ToolType(
            name=called,
            description=description,
            action=_action(called, function),
            executor=lambda params: _FunctionExecutor(function),
            annotations=annotations,
            on_crash=on_crash,
        )

    return make if function is None else make(function)


def _action(called: str, function: Callable[..., Any]) -> type[msgspec.Struct]:
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigurationError(f"parameter {parameter.name!r} of tool {called!r} cannot be given by its name")
        if parameter.name not in hints:
            raise ConfigurationError(f"parameter {parameter.name!r} of tool {called!r} needs a type")
        kind = hints[parameter.name]
        bare = parameter.default is parameter.empty
        fields.append((parameter.name, kind) if bare else (parameter.name, kind, parameter.default))
    try:
        action = msgspec.defstruct(f"{called.title().replace('_', '')}Action", fields, frozen=True, kw_only=True)
        schema(action)
    except TypeError as error:
        raise ConfigurationError(f"the parameters of tool {called!r} cannot be read from JSON: {error}") from error
    return action


class Tools:
    """The tools of one agent in one workspace; `rated` calls have the model say how dangerous they are.

    Raises `ToolMissing` when one has no implementation.
    """

    def __init__(
        self,
        specs: Iterable[Tool],
        types: Mapping[str, ToolType],
        workspace: Workspace,
        *,
        rated: bool = False,
    ) -> None:
        self._types: dict[str, ToolType] = {}
        self._params: dict[str, Params] = {}
        self._workspace, self._rated = workspace, rated
        self._definitions: tuple[ToolDefinition, ...] | None = None
        for spec in specs:
            if spec.name not in types:
                raise ToolMissing(spec.name, tuple(sorted(types)))
            self._types[spec.name] = types[spec.name]
            self._params[spec.name] = spec.params

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is offered; made when it is needed, which takes a while, and not when it is only opened."""
        if self._definitions is None:
            made = (kind.definition for kind in self._types.values())
            self._definitions = tuple(rated(definition) for definition in made) if self._rated else tuple(made)
        return self._definitions

    def resources(self, name: str, arguments: msgspec.Raw) -> tuple[str, ...]:
        """The resource keys of a call. Raises `BadCall` when it cannot run."""
        if name not in self._types:
            raise BadCall(f"there is no tool {name!r}. The tools are: {', '.join(self._types)}.")
        keys = self._types[name].resources(self.parse(name, arguments), self._workspace)
        return (f"tool:{name}",) if keys is None else keys

    def labels(self, name: str) -> tuple[Label, ...]:
        """Where a tool says that its results come from."""
        return self._types[name].labels

    def annotations(self, name: str) -> ToolAnnotations:
        """What a tool says that it does."""
        return self._types[name].annotations

    def parse(self, name: str, arguments: msgspec.Raw) -> Any:
        """The arguments as the tool's action. Raises `BadCall` when they do not fit."""
        kind = self._types[name]
        try:
            return kind.read(arguments)
        except msgspec.ValidationError as error:
            shape = bytes(kind.definition.parameters).decode()
            raise BadCall(f"the arguments of {name} do not fit: {error}. Their schema is {shape}") from error

    def executor(self, name: str) -> ToolExecutor:
        """A new executor of a tool."""
        return self._types[name].executor(self._params[name])


def file_key(path: str, workspace: Workspace) -> str:
    """The resource key of a file."""
    return f"file:{normpath(Path(workspace.path, path))}"
