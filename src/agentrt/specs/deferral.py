"""Deferred tools: too many to be offered with every call. The model searches for them, and calls those that it found.

The two tools for this never change, so that the provider's prompt cache stays valid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from .tool import OnCrash, ToolAnnotations, ToolDefinition

SEARCH, CALL = "tool_search", "call_tool"

MOST_FOUND = 20
"""The most tools that a search returns."""

_READS = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)


def search_tools(servers: Mapping[str, int]) -> tuple[ToolDefinition, ...]:
    """Return the two tools if any server has deferred tools. `servers` maps server names to numbers of tools."""
    return _made(", ".join(f"{name} ({count})" for name, count in sorted(servers.items()))) if servers else ()


@lru_cache(maxsize=64)
def _made(there: str) -> tuple[ToolDefinition, ...]:
    search = ToolDefinition(
        name=SEARCH,
        description=(
            "Find tools that are not listed here, by what they do. These servers have such tools, so many each:"
            f" {there}. Describe in a few words what you need, or give the exact name of a tool. You get their"
            f" descriptions and parameters, and can call them with {CALL} from then on."
        ),
        parameters=_schema(
            {
                "query": {"type": "string", "description": "What the tool is to do, as in 'create an issue'."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "default": 5},
            },
            "query",
        ),
        annotations=_READS,
        on_crash=OnCrash.RETRY,
        labels=("mcp",),
        headline=("search tools: {query}",),
        harmless=True,
    )
    call = ToolDefinition(
        name=CALL,
        description=f"Call a tool that {SEARCH} has found.",
        parameters=_schema(
            {
                "name": {"type": "string", "description": "The name of the tool."},
                "arguments": {"type": "object", "description": "Its arguments, by the parameters that were shown."},
            },
            "name",
            "arguments",
        ),
        annotations=_READS,
        dispatches=True,
        harmless=True,
    )
    return search, call


def tokens_of(definition: ToolDefinition) -> int:
    """Return the approximate number of tokens of a definition: a quarter of its characters."""
    return (len(definition.name) + len(definition.description) + len(bytes(definition.parameters))) // 4


def _schema(properties: dict[str, object], *required: str) -> msgspec.Raw:
    return msgspec.Raw(json.dumps({"type": "object", "properties": properties, "required": required}).encode())
