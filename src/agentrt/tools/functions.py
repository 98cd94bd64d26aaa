"""`tool`: turns a function into a tool."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, TypeAlias, overload

from ..errors import ConfigurationError
from ..protocols import Observation, ToolContext
from ..specs import Agent, Edits, Effects, OnCrash, Same, ToolAnnotations, WorkspaceSpec
from ..specs.content import sound, text
from ..specs.flow import Label
from ..specs.schemas import encoded
from .definition import ToolType
from .finish import finish_in
from .signatures import Signature, signature_of, written
from .threads import in_a_thread

Function: TypeAlias = Callable[..., Any]
AnyTool: TypeAlias = ToolType | Function
"""A tool, or a function that can become one."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@overload
def tool(function: Function) -> ToolType: ...
@overload
def tool(
    *,
    name: str | None = None,
    annotations: ToolAnnotations = ...,
    on_crash: OnCrash = ...,
    effects: Callable[[Any, WorkspaceSpec], Effects] | None = ...,
    resources: Callable[[Any, WorkspaceSpec], tuple[str, ...] | None] = ...,
    same: Same | str | None = ...,
    headline: tuple[str, ...] | str = ...,
    edits: Edits | None = ...,
    labels: tuple[Label, ...] = ...,
) -> Callable[[Function], ToolType]: ...
def tool(
    function: Function | None = None, *, name: str | None = None, **declared: Any
) -> ToolType | Callable[[Function], ToolType]:
    """Turn a function into a tool: its signature becomes the schema, its docstring the description.

    A function that is not async runs in a thread. It returns a string, an `Observation`, or anything that can be
    encoded as JSON. A parameter is described in the docstring (in the style of Google, NumPy or Sphinx), by
    `Annotated[str, msgspec.Meta(description="...")]` or by pydantic's `Field`. A parameter of type `ToolContext`
    receives the call's context, and one with `Depends(function)` the value that this function makes; the model sees
    neither. Other keywords (`declared`) are fields of `ToolType`; the functions `effects` and `resources` receive the
    arguments as attributes of an object. Raises `ConfigurationError` for a function that cannot be a tool.
    """

    def make(function: Function) -> ToolType:
        if not callable(function):
            raise ConfigurationError(f"a tool is made of a function, not of {type(function).__name__}")
        called = name or str(getattr(function, "__name__", type(function).__name__))
        if not _NAME.fullmatch(called):
            raise ConfigurationError(
                f"invalid name of a tool {called!r}: use letters, digits, '_' and '-', at most 64 characters, in"
                " tool(name=...)"
            )
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigurationError(
                f"{called!r} cannot be a tool: it yields; return the result, and show what comes before it with"
                " context.output(...)"
            )
        signature = signature_of(function, called)
        of_arguments: dict[str, Any] = {
            key: _named(declared[key], signature) for key in ("effects", "resources") if key in declared
        }
        return ToolType(
            name=called,
            description=signature.description,
            action=signature.arguments,
            executor=lambda params: _FunctionExecutor(function, signature),
            **{**declared, **of_arguments},
        )

    return make if function is None else make(function)


def _named(declared: Any, signature: Signature) -> Any:
    """Return `declared` in the form that `ToolType` calls: it gets the arguments by the names of the parameters."""
    if not callable(declared):
        return declared

    def told(action: Any, workspace: WorkspaceSpec) -> Any:
        return declared(SimpleNamespace(**signature.values(action)), workspace)

    return told


class _FunctionExecutor:
    def __init__(self, function: Function, signature: Signature) -> None:
        self._function, self._signature = function, signature
        self._is_async = inspect.iscoroutinefunction(written(function))

    async def __call__(self, action: Any, context: ToolContext) -> Observation:
        signature = self._signature
        given = signature.values(action)
        if signature.context:
            given |= dict.fromkeys(signature.context, context)
        result = await (self._with_depends(given) if signature.depends else self._called(given))
        if isinstance(result, Observation):
            return result
        return Observation(content=text(sound(result if isinstance(result, str) else encoded(result).decode())))

    async def _called(self, given: dict[str, Any]) -> Any:
        return await (self._function(**given) if self._is_async else in_a_thread(partial(self._function, **given)))

    async def _with_depends(self, given: dict[str, Any]) -> Any:
        result, failure = None, None
        async with AsyncExitStack() as stack:
            try:
                for name, depends in self._signature.depends.items():
                    given[name] = await depends.enter(stack)
                result = await self._called(given)
            except Exception as error:
                failure = error
                raise
        if failure is not None:  # a dependency suppressed it
            raise failure
        return result

    async def aclose(self) -> None:
        return None


def as_tool_types(given: Iterable[AnyTool]) -> tuple[ToolType, ...]:
    """Return the given tools, with functions turned into tools. Raises `ConfigurationError` for anything else."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigurationError("tools are given as a list of functions, or of what @tool made of them")
    return tuple(one if isinstance(one, ToolType) else _made(one) for one in given)


@lru_cache(maxsize=256)
def _made(given: Any) -> ToolType:
    if isinstance(given, str) or not callable(given):
        what = repr(given) if isinstance(given, str) else type(given).__name__
        raise ConfigurationError(
            f"tools=[...] has {what} in it: give a function, or what @tool made of one; a tool that there is already is"
            " named in Agent(tools=[...])"
        )
    return tool(given)


def distinct(tools: Iterable[ToolType]) -> tuple[ToolType, ...]:
    """Return each tool once. Raises `ConfigurationError` if two different tools have the same name."""
    found: dict[str, ToolType] = {}
    for kind in tools:
        if found.setdefault(kind.name, kind) != kind:
            raise ConfigurationError(
                f"two different tools are called {kind.name!r}: give one of them another name with tool(name=...)"
            )
    return tuple(found.values())


def tools_in(agent: Agent) -> tuple[ToolType, ...]:
    """Return the tools that need code given to an agent, or to the agents that it may delegate to: functions as tools,
    and a `finish` for types of outputs.
    """
    return (*_functions_in(agent), *finish_in(agent))


def _functions_in(agent: Agent) -> tuple[ToolType, ...]:
    own = as_tool_types(spec.implementation for spec in agent.tools if spec.implementation is not None)
    return (*own, *(kind for other in agent.agents.values() for kind in _functions_in(other)))
