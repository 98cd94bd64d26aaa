"""The tool that searches deferred tools, and the one through which they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import msgspec

from ..context.dispatching import HOW
from ..context.replies import BadCall
from ..mcp.finding import found
from ..protocols import Observation, ToolContext
from ..specs import ToolDefinition, Workspace
from ..specs.content import text
from ..specs.deferral import MOST_FOUND
from ..state import State
from ..tools.definition import DefinedTool, Elsewhere, defined_tool

_NONE = "No tool fits. There are tools of {}: try other words."


def searching_tools(state: State, now: Callable[[], State]) -> list[DefinedTool]:
    """Both, as a conversation calls them, where it has deferred tools; `now` gives its state."""
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
        """The definitions that fit, each on a line as JSON."""
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


def _refused(action: dict[str, Any], workspace: Workspace) -> tuple[str, ...]:
    """Raises `BadCall`: a call that names a tool is a call of that one."""
    raise BadCall(HOW)
