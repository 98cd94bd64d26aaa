"""`Connections`: those of a process to MCP servers, each with one owner task, shared where that is allowed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from types import TracebackType

import anyio
import msgspec
from anyio.abc import TaskGroup

from ..specs.mcp import MCPServer
from .connection import Connection


class Whose(msgspec.Struct, frozen=True):
    """For whom a connection is."""

    conversation: str
    above: str | None = None
    """The conversation that delegates to it."""
    owner: str | None = None
    workspace: str = ""
    """The directory in which it works."""
    mark: str = ""
    """What names the conversation in the environment of its processes."""


class Connections:
    """An async context manager. A process belongs to one conversation and those that it delegates to, unless its server
    is `shared`: then to an owner. A connection over HTTP is shared by the conversations of an owner.
    """

    def __init__(self) -> None:
        self._tasks: TaskGroup | None = None
        self._open: dict[str, _Shared] = {}
        self._roots: dict[str, str] = {}

    async def __aenter__(self) -> Connections:
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None
        tasks.cancel_scope.cancel()
        await tasks.__aexit__(None, None, None)

    @asynccontextmanager
    async def use(self, name: str, server: MCPServer, whose: Whose) -> AsyncIterator[Connection]:
        """A connection to a server whose variables are filled in; the last one who leaves it closes it."""
        assert self._tasks is not None
        root = self._roots.setdefault(whose.conversation, self._roots.get(whose.above or "", whose.conversation))
        key = _key(name, server, whose.owner, root)
        shared = self._open.get(key)
        if shared is None:
            mark = "" if server.shared else whose.mark
            shared = self._open[key] = _Shared(Connection(name, server, mark))
            self._tasks.start_soon(shared.run)
        shared.users += 1
        if whose.workspace:
            shared.connection.workspaces.append(whose.workspace)
        try:
            yield shared.connection
        finally:
            if whose.workspace:
                shared.connection.workspaces.remove(whose.workspace)
            shared.users -= 1
            if not shared.users:
                del self._open[key]
                shared.scope.cancel()


class _Shared:
    def __init__(self, connection: Connection) -> None:
        self.connection, self.users, self.scope = connection, 0, anyio.CancelScope()

    async def run(self) -> None:
        with self.scope:
            await self.connection.run()


def _key(name: str, server: MCPServer, owner: str | None, root: str) -> str:
    """What those have in common who share a connection."""
    scope = ("owner", owner) if server.shared or server.way != "stdio" else ("conversation", root)
    return sha256(msgspec.json.encode((scope, name, server), order="deterministic")).hexdigest()
