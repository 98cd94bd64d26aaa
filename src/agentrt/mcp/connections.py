"""`Connections`: the connections of a process to MCP servers, each with one owner task, shared where allowed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from types import TracebackType

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from ..errors import ConfigurationError
from ..placing import Place
from ..specs.mcp import MCPServer
from .connection import Connection
from .logins import Logins
from .tokens import Tokens
from .transports import Tell


class Whose(msgspec.Struct, frozen=True):
    """The conversation that a connection is for."""

    conversation: str
    above: str | None = None
    """The conversation that delegates to it."""
    owner: str | None = None
    workspace: str = ""
    """The directory that it works in."""
    place: Place | None = None
    """Where its servers run that are programs; None: on this machine."""


class Connections:
    """An async context manager. A server's process belongs to one conversation and those that it delegates to, or, if
    the server is `shared`, to an owner. A connection over HTTP is shared by the conversations of an owner. If the
    server keeps state for its users, each conversation, with those that it delegates to, has its own.
    """

    def __init__(self, tokens: Callable[[str | None], Tokens] | None = None) -> None:
        self._tokens_of = tokens
        self.logins = Logins()
        self._tasks: TaskGroup | None = None
        self._open: dict[str, _Shared] = {}
        self._roots: dict[str, tuple[str, int]] = {}
        """By conversation: the one at the top of its tree, and how many servers it uses."""

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
    async def use(
        self, name: str, server: MCPServer, whose: Whose, hides: Tell = lambda values: None
    ) -> AsyncIterator[Connection]:
        """Provide a connection to a server whose variables are filled in. The last user that leaves it closes it.

        `hides` gets the connection's secrets, to mask them, before they are sent to the server.
        """
        with self._rooted(whose) as root:
            key = await self._agreed_key(name, server, whose, root)
            shared = self._began(key, name, server, whose, root)
            connection = shared.connection
            places = connection.answers.workspaces
            with shared.used():
                connection.hiding.append(hides)
                hides(connection.secrets)
                if whose.workspace:
                    places.append(whose.workspace)
                try:
                    yield connection
                finally:
                    connection.hiding.remove(hides)
                    if whose.workspace:
                        places.remove(whose.workspace)

    async def _agreed_key(self, name: str, server: MCPServer, whose: Whose, root: str) -> str:
        """Return the key of a connection. Whether one over HTTP may be shared is known only once it is ready."""
        own, common = _key(name, server, ("conversation", root)), _key(name, server, ("owner", whose.owner))
        if server.shared:
            return common
        if server.way == "stdio" or own in self._open:
            return own
        shared = self._began(common, name, server, whose, root)
        if shared.root == root:
            return common
        with shared.used():
            return own if (await shared.connection.ready()).has_session else common

    @contextmanager
    def _rooted(self, whose: Whose) -> Iterator[str]:
        """Provide the conversation at the top of the tree, among those that use servers."""
        name, above = whose.conversation, self._roots.get(whose.above or "")
        root, users = self._roots.get(name) or (above[0] if above is not None else name, 0)
        self._roots[name] = (root, users + 1)
        try:
            yield root
        finally:
            root, users = self._roots.pop(name)
            if users > 1:
                self._roots[name] = (root, users - 1)

    def tokens(self, owner: str | None) -> Tokens | None:
        """Return the tokens of an owner, None if none are kept."""
        return self._tokens_of(owner) if self._tokens_of is not None else None

    async def begin_login(self, server: MCPServer, owner: str | None, redirect: str, proof: str = "") -> str:
        """Begin a login for an owner, and return the address that a person opens. The browser comes back to `redirect`:
        see `logins`.

        Raises `ToolError`, and `ConfigurationError` if no tokens can be kept.
        """
        assert self._tasks is not None
        if (tokens := self.tokens(owner)) is None:
            raise ConfigurationError("no tokens are kept here")
        return await self.logins.begin(
            self._tasks, server, owner, tokens, redirect, lambda: self.again(server.url, owner), proof
        )

    def again(self, url: str, owner: str | None) -> None:
        """Have an owner's connections to an address connect now, after a login there."""
        for shared in self._open.values():
            if shared.owner == owner and shared.connection.server.url == url:
                shared.connection.again()

    def _began(self, key: str, name: str, server: MCPServer, whose: Whose, root: str) -> _Shared:
        """Return the connection under a key; begin it if there is none."""
        assert self._tasks is not None
        shared = self._open.get(key)
        if shared is None:
            place = whose.place if server.confined or whose.place is None else whose.place.outside
            connection = Connection(name, server, None if server.shared else place, self.tokens(whose.owner))
            shared = self._open[key] = _Shared(connection, root, whose.owner, lambda: self._open.pop(key))
            self._tasks.start_soon(shared.run)
        return shared


class _Shared:
    """A connection and its number of users."""

    def __init__(self, connection: Connection, root: str, owner: str | None, left: Callable[[], object]) -> None:
        self.connection, self.root, self.owner = connection, root, owner
        self._left, self._users, self._scope = left, 0, anyio.CancelScope()

    async def run(self) -> None:
        with self._scope:
            await self.connection.run()

    @contextmanager
    def used(self) -> Iterator[None]:
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._left()
                self._scope.cancel()


def _key(name: str, server: MCPServer, scope: tuple[str, str | None]) -> str:
    """Return the key that the users of a connection have in common: a process's name and configuration, or an address
    and the headers and credentials for it. Over HTTP, each user has its own tools and time limits.
    """
    if server.way == "stdio":
        same: object = (name, replace(server, pinned=()))
    else:
        same = (server.way, server.url, server.headers, server.credentials)
    return sha256(msgspec.json.encode((scope, same), order="deterministic")).hexdigest()
