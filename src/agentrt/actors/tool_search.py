"""The tool that searches for deferred tools, and the tool that calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import msgspec

from ..context.dispatching import HOW
from ..context.replies import BadCall
from ..mcp.finding import found
from ..protocols import Observation, ToolContext
from ..specs import ToolDefinition, WorkspaceSpec
from ..specs.content import text
from ..specs.deferral import MOST_FOUND
from ..state import State
from ..tools.definition import DefinedTool, Elsewhere, defined_tool

_NONE = "No tool fits. There are tools of {}: try other words."


def searching_tools(state: State, now: Callable[[], State]) -> list[DefinedTool]:
    """Return both tools as a conversation calls them, if it has deferred tools. `now` returns its current state."""
    return [
        defined_tool(tool, Elsewhere, _refused)
        if tool.dispatches
        else defined_tool(tool, lambda: _Search(now), lambda action, workspace: ())
        for tool in state.searching
    ]


class _Search:
    """The executor of the search."""

    def __init__(self, now: Callable[[], State]) -> None:
        self._now = now

    async def __call__(self, action: dict[str, Any], context: ToolContext) -> Observation:
        """Return the definitions of the tools that match, one per line as JSON."""
        state = self._now()
        deferred = {name: server.tools for name, server in state.servers.items() if server.deferred}
        tools = [tool for offered in deferred.values() for tool in offered]
        limit = min(max(int(action.get("limit") or 5), 1), MOST_FOUND)
        fitting = await anyio.to_thread.run_sync(found, str(action.get("query", "")), tools, limit)
        if not fitting:
            return Observation(content=text(_NONE.format(", ".join(deferred))))
        shown = "\n".join(map(_shown, fitting))
        return Observation(content=text(shown), found=tuple(tool.name for tool in fitting))

    async def aclose(self) -> None: ...


def _shown(tool: ToolDefinition) -> str:
    said = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return msgspec.json.encode(said).decode()


def _refused(action: dict[str, Any], workspace: WorkspaceSpec) -> tuple[str, ...]:
    """Raise `BadCall`: a call that names a tool becomes a call of that tool."""
    raise BadCall(HOW)
