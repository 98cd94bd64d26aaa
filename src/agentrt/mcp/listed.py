"""`Listed`: the tools, resources and prompts that a server lists."""

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
"""Maximum number of pages of a list of tools that are read."""


class Listed(msgspec.Struct, frozen=True):
    """The lists of a server. The tools and resources are the library's objects."""

    tools: tuple[Any, ...] = ()
    resources: tuple[Any, ...] = ()
    """Its resources and its resource templates: the first page of each list."""
    prompts: tuple[str, ...] = ()
    """The names of its first prompts, at most `MOST_PROMPTS`."""


async def listed(client: Client) -> Listed:
    """Return all that a server lists. Raises `MCPError` if it cannot list its tools."""
    return Listed(await tools_of(client), await _resources_of(client), await _prompts_of(client))


async def tools_of(client: Client) -> tuple[Tool, ...]:
    """Return the tools of a server that can be called, without those that run only as tasks of the protocol (MCP
    2025-11-25, "Tasks"). Raises `MCPError`.
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
    """Return the resources and templates of a server; () if it has none or cannot list them."""
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
