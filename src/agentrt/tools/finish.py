"""`finish`: ends the task with a message, or also with an output that fits a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..protocols import Observation, ToolContext
from ..specs import Agent, OnCrash, ToolDefinition
from ..specs.content import text
from ..specs.schemas import Reader, Schema, as_schema, reader_of, schema_of
from .definition import ToolType, nothing
from .simple import HARMLESS

_LONGEST = 5
"""Maximum number of schema mistakes reported to the model at once."""


class FinishAction(msgspec.Struct, frozen=True):
    """Arguments of `finish`."""

    message: Annotated[str, Meta(description="What was done, and how you know that it works.")]


class StructuredFinishAction(FinishAction, frozen=True):
    """Arguments of a `finish` that gives an output."""

    output: msgspec.Raw


class FinishObservation(Observation, frozen=True, kw_only=True):
    """The end of a task that has an output."""

    output: msgspec.Raw


class _Finish:
    async def __call__(self, action: FinishAction, context: ToolContext) -> Observation:
        if isinstance(action, StructuredFinishAction):
            return FinishObservation(content=text("Finished."), output=action.output)
        return Observation(content=text("Finished."))

    async def aclose(self) -> None:
        return None


@dataclass(frozen=True)
class _Knowing(ToolType):
    """`finish` that knows the types of outputs, so that `structured` also applies checks that are not in a schema."""

    kinds: tuple[Schema, ...] = ()


@dataclass(frozen=True)
class _Structured(ToolType):
    """`finish` with an output that must fit a JSON schema, and also its type if that is known."""

    output: dict[str, Any] = field(default_factory=dict)
    kind: Any = None

    @cached_property
    def definition(self) -> ToolDefinition:
        shape = dict(self.output)
        definitions: dict[str, Any] = {name: shape.pop(name) for name in ("$defs", "definitions") if name in shape}
        parameters = schema_of(FinishAction)
        parameters["properties"]["output"] = shape
        parameters["required"] = ["message", "output"]
        parameters |= definitions
        return msgspec.structs.replace(super().definition, parameters=msgspec.Raw(msgspec.json.encode(parameters)))

    def read(self, arguments: msgspec.Raw) -> Any:
        action: StructuredFinishAction = self.reader(arguments)
        mistakes = sorted(self._validator.iter_errors(msgspec.json.decode(action.output)), key=lambda e: e.json_path)
        if mistakes:
            told = "; ".join(f"{e.json_path.replace('$', 'output', 1)}: {e.message}" for e in mistakes[:_LONGEST])
            raise msgspec.ValidationError(told)
        if self._kind_reader is not None:
            try:
                self._kind_reader(action.output)
            except msgspec.ValidationError as error:
                raise msgspec.ValidationError(f"output: {error}") from error
        return action

    @cached_property
    def _kind_reader(self) -> Reader | None:
        return None if self.kind is None else reader_of(self.kind)

    @cached_property
    def _validator(self) -> Any:
        from jsonschema import Draft202012Validator  # rarely needed, and takes 0.1 s to import
        from referencing import Registry

        return Draft202012Validator(self.output, registry=Registry())  # this registry fetches nothing


def structured(finish: ToolType, output: dict[str, Any]) -> ToolType:
    """Return `finish` with an output that must fit the JSON schema of an object.

    Raises `ConfigurationError` for any other schema.
    """
    as_schema(output)
    fields: dict[str, Any] = {name: getattr(finish, name) for name in ToolType.__dataclass_fields__}
    known = finish.kinds if isinstance(finish, _Knowing) else ()
    kind = next((one.kind for one in known if one == output), None)
    fields |= {"action": StructuredFinishAction, "output": output, "kind": kind}
    return _Structured(**fields)


def output_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a struct, a dataclass or a pydantic model, for `Agent.output`.

    Raises `ConfigurationError` for a type whose values are not JSON objects.
    """
    schema: dict[str, Any] = as_schema(kind)
    return schema


def finish_in(agent: Agent) -> tuple[ToolType, ...]:
    """Return a `finish` that knows the output types of an agent and of the agents that it may delegate to; nothing if
    there are none.
    """
    kinds = tuple(_kinds_in(agent))
    if not kinds:
        return ()
    fields: dict[str, Any] = {name: getattr(finish, name) for name in ToolType.__dataclass_fields__}
    return (_Knowing(**fields, kinds=kinds),)


def _kinds_in(agent: Agent) -> Iterator[Schema]:
    if isinstance(agent.output, Schema):
        yield agent.output
    for other in agent.agents.values():
        yield from _kinds_in(other)


finish = ToolType(
    name="finish",
    description="End the task, once it is done or cannot be done.",
    action=FinishAction,
    executor=lambda params: _Finish(),
    annotations=HARMLESS,
    on_crash=OnCrash.RETRY,
    effects=nothing,
    harmless=True,
    ends_turn=True,
    headline="{message}",
    aliases=("done", "submit", "complete", "attempt_completion", "task_complete"),
)
