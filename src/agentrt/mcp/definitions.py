"""`definitions`: a server's tools as the model and the log see them. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
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
"""Maximum characters of a tool's description; the rest is cut."""

LONGEST_SCHEMA = 64 << 10
"""Maximum bytes of the schema of a tool's arguments."""

MOST_TOOLS = 1000
"""Maximum number of tools of one server."""

READ = "read_resource"
"""The name of the tool that reads a server's resources; the server's name is put before it."""

LABELS: tuple[Label, ...] = ("mcp",)
"""The labels of the results of a server's tools: where they come from."""


def definitions(
    server: str,
    tools: Sequence[Tool],
    taken: Collection[str],
    include: Collection[str] = (),
    exclude: Collection[str] = (),
    pattern: str | None = None,
    resources: Sequence[Any] = (),
    kept: Mapping[str, str] = {},
) -> tuple[ToolDefinition, ...]:
    """Return the tools of a server that are offered, under names that are not `taken`. If the server has `resources`,
    they include a tool that reads these. A tool that was offered before has the name in `kept`, by the server's own
    name; that of the reader is under "". A tool without a name, or with a schema that is too long, is left out.
    """
    found = {
        tool.name: tool
        for tool in tools[:MOST_TOOLS]
        if tool.name
        and offered(tool.name, include, exclude, pattern)
        and len(msgspec.json.encode(tool.input_schema)) <= LONGEST_SCHEMA
    }
    names = named(server, found, taken, {name: of for name, of in kept.items() if name})
    made = tuple(_definition(server, names[name], tool) for name, tool in found.items())
    if not resources or not offered(READ, include, exclude, pattern):
        return made
    known = {READ: kept[""]} if "" in kept else {}
    return (*made, _reader(server, named(server, [READ], {*taken, *names.values(), READ}, known)[READ]))


def _reader(server: str, name: str) -> ToolDefinition:
    """Return a tool that reads resources. It has no text from the server, which could change unnoticed."""
    return ToolDefinition(
        name=name,
        description=f"Read a resource of {server} by its URI; without one, list what there is to read.",
        parameters=msgspec.Raw(b'{"type":"object","properties":{"uri":{"type":"string"}}}'),
        annotations=ToolAnnotations(read_only=True, destructive=False, idempotent=True),
        on_crash=OnCrash.RETRY,
        labels=LABELS,
        server=server,
    )


def listed_resources(resources: Sequence[Any]) -> str:
    """Return the resources of a server, one a line."""
    lines = [sound(f"{getattr(one, 'uri', None) or one.uri_template}: {one.title or one.name}") for one in resources]
    return "\n".join(lines) or "There is nothing to read."


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
    """Return a schema of arguments that every provider accepts: of an object that has `properties`."""
    schema = {name: value for name, value in given.items() if name not in ("$schema", "$id")}
    schema["type"] = "object"
    if not isinstance(schema.get("properties"), dict):
        schema["properties"] = {}
    return schema


def digest(definition: ToolDefinition) -> str:
    """Return the hexadecimal SHA-256 of all that a tool says of itself. If it changes, a person is shown the tool."""
    said = {
        "name": definition.remote,
        "description": definition.description,
        "parameters": msgspec.json.decode(definition.parameters),
        "annotations": msgspec.to_builtins(definition.annotations),
    }
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
