"""The tools of MCP servers, as a conversation calls them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from ..context.messages import Message
from ..errors import CallCut, ConfigurationError, ModelError, ToolError
from ..mcp.answering import Caller
from ..mcp.connection import Connection
from ..mcp.definitions import listed_resources
from ..mcp.results import content_of, read_of
from ..protocols import Observation, ToolContext
from ..specs import OnCrash, ToolDefinition
from ..specs.content import text
from ..tools.definition import DefinedTool, defined_tool
from .side_calls import SideCalls

Connected: TypeAlias = Callable[[], Awaitable[Connection]]
"""Returns the connection to a tool's server. Raises `ToolError`."""


def remote_tool(
    definition: ToolDefinition,
    connection: Connected,
    calls: SideCalls,
    timeout: float | None = None,
    restarted: Callable[[], bool] = lambda: False,
) -> DefinedTool:
    """Return a server's tool as a conversation calls it. It waits `timeout` seconds for an answer.

    `restarted` returns whether the server is a process of the conversation, and another one than the log knows of.
    """
    touched = () if definition.annotations.read_only else (f"mcp:{definition.server}",)
    return defined_tool(
        definition,
        lambda: _Call(definition, connection, calls, timeout, restarted),
        lambda action, workspace: touched,
    )


class _Call:
    """The executor of a server's tool."""

    def __init__(
        self,
        definition: ToolDefinition,
        connection: Connected,
        calls: SideCalls,
        timeout: float | None,
        restarted: Callable[[], bool],
    ) -> None:
        self._caller = Caller(definition.server, timeout)
        self._server, self._remote = definition.server, definition.remote
        self._may_repeat = definition.on_crash is OnCrash.RETRY
        self._connection, self._calls, self._restarted = connection, calls, restarted

    def lost(self, action: dict[str, Any]) -> bool:
        """Return whether the server's process has ended, or was started again."""
        return self._restarted()

    async def __call__(self, action: dict[str, Any], context: ToolContext) -> Observation:
        """Return the server's answer. Raise `ToolError`."""

        def show(done: float, of: float | None, words: str | None) -> None:
            context.output(f"{words or ''} [{done:g}{f' of {of:g}' if of else ''}]\n")

        connection = await self._connection()
        if not self._remote:
            uri = str(action.get("uri") or "")
            there = text(listed_resources(connection.standing.listed.resources))
            return Observation(
                content=read_of(await connection.read(uri, self._caller)) if uri else there, labels=("mcp",)
            )

        async def asked(message: str, schema: dict[str, Any] | None, url: str) -> tuple[str, dict[str, Any]] | None:
            given = await context.ask(message, schema, url, self._server)
            return None if given is None else (given.verdict, msgspec.json.decode(given.content))

        async def sampled(question: str, messages: Sequence[Message]) -> tuple[str, str] | None:
            given = await context.ask(question, {"type": "object", "properties": {}}, "", self._server)
            if given is None or given.verdict != "accept":
                return None
            try:
                return await self._calls.sample(messages)
            except (ModelError, ConfigurationError) as error:
                raise ToolError(f"the model that {self._server} asks for did not answer: {error}") from error

        caller = msgspec.structs.replace(
            self._caller, told=show, logged=lambda line: context.output(f"{line}\n"), asked=asked, sampled=sampled
        )
        try:
            result = await connection.call(self._remote, action, caller)
        except CallCut:
            if not self._may_repeat:
                raise
            result = await connection.call(self._remote, action, caller)
        return Observation(content=content_of(result), is_error=result.is_error, labels=("mcp",))

    async def aclose(self) -> None: ...
