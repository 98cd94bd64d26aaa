"""What a server has: its tools, resources and prompts, as it lists them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from ..specs.content import sound

if TYPE_CHECKING:
    from mcp_types import Tool

    from mcp import Client

MOST_PROMPTS, LONGEST_NAME = 200, 200

MOST_PAGES = 100
"""Pages of a list of tools that are read."""


class Listed(msgspec.Struct, frozen=True):
    """The tools and resources are the library's objects."""

    tools: tuple[Any, ...] = ()
    resources: tuple[Any, ...] = ()
    """The first of its resources, and its templates of resources."""
    prompts: tuple[str, ...] = ()
    """The names of its first prompts."""


async def listed(client: Client) -> Listed:
    """All that a server has. Raises `MCPError` where it cannot list its tools."""
    return Listed(await tools_of(client), await _resources_of(client), await _prompts_of(client))


async def tools_of(client: Client) -> tuple[Tool, ...]:
    """All tools of a server that can be called; not those that run as tasks of the protocol alone (MCP 2025-11-25,
    "Tasks"). Raises `MCPError`.
    """
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(tool for tool in found if tool.execution is None or tool.execution.task_support != "required")


async def _resources_of(client: Client) -> tuple[Any, ...]:
    """None where it has none, or cannot say."""
    from mcp import MCPError

    if client.server_capabilities.resources is None:
        return ()
    found: tuple[Any, ...] = ()
    with suppress(MCPError):
        found = tuple((await client.list_resources()).resources)
    with suppress(MCPError):
        found = (*found, *(await client.list_resource_templates()).resource_templates)
    return found


async def _prompts_of(client: Client) -> tuple[str, ...]:
    from mcp import MCPError

    if client.server_capabilities.prompts is None:
        return ()
    with suppress(MCPError):
        found = (await client.list_prompts()).prompts[:MOST_PROMPTS]
        return tuple(sound(prompt.name)[:LONGEST_NAME] for prompt in found)
    return ()
