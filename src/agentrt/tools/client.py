"""`client_tool`: a tool executed by the program that uses the conversation, or by the client of a server."""

from __future__ import annotations

import msgspec

from ..specs import ClientTool, ToolDefinition
from .definition import DefinedTool, Elsewhere, defined_tool


def client_tool(spec: ClientTool) -> DefinedTool:
    """Return the tool as the model and the rules know it; no executor runs its calls."""
    definition = ToolDefinition(
        name=spec.name,
        description=spec.description,
        parameters=msgspec.Raw(msgspec.json.encode({"properties": {}, **spec.schema})),
        annotations=spec.annotations,
        client=True,
        deadline=spec.deadline,
    )
    return defined_tool(definition, Elsewhere, lambda action, workspace: ())
