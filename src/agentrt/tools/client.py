"""Tools that are executed elsewhere: by the program that holds a conversation, or by the client of a server."""

from __future__ import annotations

from typing import Any

import msgspec

from ..protocols import Observation, ToolContext
from ..specs import ClientTool, ToolDefinition
from .definition import DefinedTool, defined_tool


def client_tool(spec: ClientTool) -> DefinedTool:
    """The tool as the model and the rules know it."""
    definition = ToolDefinition(
        name=spec.name,
        description=spec.description,
        parameters=msgspec.Raw(msgspec.json.encode({"properties": {}, **spec.schema})),
        annotations=spec.annotations,
        client=True,
        deadline=spec.deadline,
    )
    return defined_tool(definition, _Elsewhere, lambda action, workspace: ())


class _Elsewhere:
    async def __call__(self, action: dict[str, Any], context: ToolContext) -> Observation:
        raise AssertionError("a call of this tool is given its result")

    async def aclose(self) -> None: ...
