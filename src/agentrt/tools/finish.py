"""`finish`: ends the task, with words, or with an output of a given shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..decisions import EVERYTHING
from ..errors import ConfigurationError
from ..protocols import Observation, ToolContext
from ..specs import OnCrash, ToolDefinition
from ..specs.content import text
from ..specs.tool import FINISH
from .definition import ToolType, schema
from .simple import HARMLESS

_LONGEST = 5
"""Mistakes that the model is told of at once."""


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
class _Structured(ToolType):
    """`finish` with an output that must fit a JSON schema."""

    output: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def definition(self) -> ToolDefinition:
        shape = dict(self.output)
        definitions = shape.pop("$defs", None)
        parameters = schema(FinishAction)
        parameters["properties"]["output"] = shape
        parameters["required"] = ["message", "output"]
        if definitions is not None:
            parameters["$defs"] = definitions
        return msgspec.structs.replace(super().definition, parameters=msgspec.Raw(msgspec.json.encode(parameters)))

    def read(self, arguments: msgspec.Raw) -> Any:
        action: StructuredFinishAction = self.decoder.decode(arguments)
        mistakes = sorted(self._validator.iter_errors(msgspec.json.decode(action.output)), key=lambda e: e.json_path)
        if mistakes:
            told = "; ".join(f"{e.json_path.replace('$', 'output', 1)}: {e.message}" for e in mistakes[:_LONGEST])
            raise msgspec.ValidationError(told)
        return action

    @cached_property
    def _validator(self) -> Any:
        from jsonschema import Draft202012Validator  # of use to few: a tenth of a second

        return Draft202012Validator(self.output)


def structured(finish: ToolType, output: dict[str, Any]) -> ToolType:
    """`finish`, with an output that must fit a JSON schema of an object. Raises `ConfigurationError` for another."""
    if output.get("type") != "object":
        raise ConfigurationError(
            "Agent.output must be the JSON schema of an object: output_schema(YourStruct) makes one"
        )
    fields: dict[str, Any] = {name: getattr(finish, name) for name in ToolType.__dataclass_fields__}
    fields |= {"action": StructuredFinishAction, "output": output}
    return _Structured(**fields)


def output_schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a struct, for `Agent.output`."""
    return schema(kind)


finish = ToolType(
    name=FINISH,
    description="End the task, once it is done or cannot be done.",
    action=FinishAction,
    executor=lambda params: _Finish(),
    annotations=HARMLESS,
    on_crash=OnCrash.RETRY,
    resources=lambda action, workspace: (EVERYTHING,),
)
