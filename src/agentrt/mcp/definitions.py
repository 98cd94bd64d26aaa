"""A server's tools as the model and the log see them. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from ..specs import OnCrash, ToolAnnotations, ToolDefinition
from ..specs.content import sound
from ..specs.flow import Label
from .naming import named, offered

if TYPE_CHECKING:
    from mcp_types import Tool

LONGEST_DESCRIPTION = 4096
"""Characters of a tool's description that the model is shown."""

MOST_TOOLS = 1000
"""Tools of one server."""

LABELS: tuple[Label, ...] = ("mcp",)
"""Where the results of a server's tools come from."""


def definitions(
    server: str,
    tools: Sequence[Tool],
    taken: Collection[str],
    include: Collection[str] = (),
    exclude: Collection[str] = (),
    pattern: str | None = None,
) -> tuple[ToolDefinition, ...]:
    """The tools that are offered of those of a server, under names that are not `taken`."""
    found = {tool.name: tool for tool in tools[:MOST_TOOLS] if offered(tool.name, include, exclude, pattern)}
    names = named(server, found, taken)
    return tuple(_definition(server, names[name], tool) for name, tool in found.items())


def _definition(server: str, name: str, tool: Tool) -> ToolDefinition:
    hints = tool.annotations
    annotations = ToolAnnotations(
        title=sound((hints.title if hints is not None else None) or tool.title or "")[:200],
        read_only=bool(hints is not None and hints.read_only_hint),
        destructive=hints is None or hints.destructive_hint is not False,
        idempotent=bool(hints is not None and hints.idempotent_hint),
        open_world=hints is None or hints.open_world_hint is not False,
    )
    repeatable = annotations.read_only or annotations.idempotent
    return ToolDefinition(
        name=name,
        description=sound(tool.description or tool.title or "")[:LONGEST_DESCRIPTION],
        parameters=msgspec.Raw(msgspec.json.encode(_parameters(tool.input_schema))),
        annotations=annotations,
        on_crash=OnCrash.RETRY if repeatable else OnCrash.ASK,
        labels=LABELS,
        server=server,
        remote=tool.name,
    )


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
    """A schema of arguments as every provider takes it: of an object that has `properties`."""
    schema = {name: value for name, value in given.items() if name not in ("$schema", "$id")}
    schema["type"] = "object"
    if not isinstance(schema.get("properties"), dict):
        schema["properties"] = {}
    return schema


def digest(definition: ToolDefinition) -> str:
    """SHA-256, in hexadecimal, of all that a tool says of itself: where that changes a person is shown it."""
    said = {
        "name": definition.remote,
        "description": definition.description,
        "parameters": msgspec.json.decode(definition.parameters),
        "annotations": msgspec.to_builtins(definition.annotations),
    }
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
