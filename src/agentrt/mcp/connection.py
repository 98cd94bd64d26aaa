"""`Connection`: the one owner of a session with a server. Other tasks call through it and learn when it ends."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
import msgspec

from ..errors import CallCut, ConfigurationError, ToolError
from ..pins import changed
from ..placing import Place
from ..specs.content import sound
from ..specs.mcp import MCPServer
from .answering import Answers, Call, Caller
from .causes import LONGEST, cause_of, is_invalid
from .listed import Listed, listed, tools_of
from .pinning import CHANGED
from .transports import Tell, Transport, transport_of

if TYPE_CHECKING:
    from mcp_types import CallToolResult, GetPromptResult, ReadResourceResult

    from mcp import Client

    from .tokens import Tokens

T = TypeVar("T")

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""First and longest wait in seconds before reconnecting to a server that went away; it doubles."""

_CLOSED, _CLOSED_WORDS = -32000, ("Connection closed", "SSE stream ")
"""The code and first words of the library's error for a closed connection; a server may use the same code."""

_URLS_WANTED = -32042
"""A server's error code for a call that needs a person to open addresses first (MCP 2025-11-25, "Elicitation")."""

MOST_VISITS = 3
"""Maximum number of times that a person is asked to open addresses for one call."""


class _UrlsWanted(ToolError):
    """Raised for a call that needs a person to open addresses; `urls` has a reason and an address each."""

    def __init__(self, urls: Sequence[tuple[str, str]]) -> None:
        super().__init__("a person has to open an address first")
        self.urls = urls


def _urls_of(data: Any) -> list[tuple[str, str]]:
    wanted = data.get("elicitations") if isinstance(data, dict) else None
    found = [one for one in wanted if isinstance(one, dict) and one.get("url")] if isinstance(wanted, list) else []
    return [(sound(str(one.get("message", ""))), sound(str(one["url"]))) for one in found]


class Standing(msgspec.Struct, frozen=True):
    """The state of a connection: what the server offers, or why it is not available."""

    listed: Listed = Listed()
    problem: str = ""
    number: int = 0
    """Grows with each change."""
    protocol: str = ""
    """The negotiated revision of the protocol."""
    has_session: bool = True
    """Whether the server keeps state for the users of the connection."""
    session: int = 0
    """The number of the session, which grows with each that begins; 0: there is none."""

    @property
    def ready(self) -> bool:
        """Whether its tools can be called."""
        return bool(self.number) and not self.problem


class Connection:
    """A connection to a server. A task of its own (`run`) alone holds the session: it connects, publishes changes, and
    connects again with growing waits when the server has gone away.

    A dying transport may cancel the task that holds it, so that is a task below `run`, never a caller's.
    """

    def __init__(self, name: str, server: MCPServer, place: Place | None = None, tokens: Tokens | None = None) -> None:
        """A server that is a program runs in `place`; None: on this machine, for no conversation."""
        self.name, self.server = name, server
        self.standing = Standing()
        self.answers = Answers()
        self.hiding: list[Tell] = []
        """Callbacks that mask values in the conversations that use the connection."""
        self._place, self._tokens = place, tokens
        self._transport: Transport | None = None
        self._client: Client | None = None
        self._changed = anyio.Event()
        self._wanted = anyio.Event()
        self._ended = anyio.Event()
        self._gone = anyio.Event()
        self._tries = self._sessions = 0

    def _hide(self, values: Iterable[str]) -> None:
        """Have all conversations that use the connection mask values."""
        values = tuple(values)
        for hides in self.hiding:
            hides(values)

    @property
    def open(self) -> bool:
        """Whether it has a session now."""
        return self._client is not None

    @property
    def session(self) -> int:
        """The number of its session; 0: there is none now, or its transport has ended."""
        return self.standing.session if self._live is not None else 0

    @property
    def _live(self) -> Client | None:
        """The client, unless its transport has ended."""
        return None if self._gone.is_set() else self._client

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets that are sent to the server besides those of its configuration."""
        return self._transport.secrets if self._transport is not None else ()

    def again(self) -> None:
        """Try to connect now, without waiting any longer."""
        self._wanted.set()

    async def retried(self) -> Standing:
        """End the session, if there is one, try to connect again, and return the state."""
        before = self.standing.number
        self._ended.set()
        self._wanted.set()
        with anyio.move_on_after(self.server.connect_timeout):
            tries = self._tries
            async for standing in self.changes(before):
                if standing.ready or self._tries > tries:
                    break
        return self.standing

    async def run(self) -> None:
        """Connect, and connect again when the session ends, until this is cancelled."""
        wait = FIRST_WAIT
        while True:
            begun, self._tries = time.monotonic(), self._tries + 1
            self._ended, end = anyio.Event(), _End()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hold, end)
                await self._ended.wait()
                tasks.cancel_scope.cancel()
            self._client = None
            if end.idle:
                await self._wanted.wait()
            else:
                self._stand(Standing(problem=end.problem or "it has closed the connection"))
                if time.monotonic() - begun > LONGEST_WAIT:
                    wait = FIRST_WAIT
                with anyio.move_on_after(wait):
                    await self._wanted.wait()
                wait = min(wait * 2, LONGEST_WAIT)
            self._wanted = anyio.Event()

    async def changes(self, after: int = 0) -> AsyncIterator[Standing]:
        """Yield the newest state after each change, beginning with the first one whose number is above `after`."""
        while True:
            if self.standing.number > after:
                after = self.standing.number
                yield self.standing
            else:
                await self._changed.wait()

    async def ready(self) -> Standing:
        """Return the state once it is known, or one with a problem after `connect_timeout` seconds."""
        with anyio.move_on_after(self.server.connect_timeout):
            async for standing in self.changes():
                return standing
        return Standing(problem=f"it did not answer within {self.server.connect_timeout:g} s")

    async def call(self, tool: str, arguments: dict[str, Any], caller: Caller = Caller()) -> CallToolResult:
        """Return the result of a tool. Raises `ToolError` that names the server, the cause, and what to do."""

        async def show(progress: float, total: float | None, message: str | None) -> None:
            caller.told(progress, total, message)

        def asked(client: Client) -> Awaitable[CallToolResult]:
            return client.call_tool(tool, arguments, progress_callback=show)

        for _ in range(MOST_VISITS):
            try:
                return await self._asked(tool, asked, caller)
            except _UrlsWanted as wanted:
                await self._visited(tool, wanted.urls, caller)
        raise ToolError(f"{tool} of {caller.server or self.name} wants addresses opened again and again")

    async def _visited(self, tool: str, urls: Sequence[tuple[str, str]], caller: Caller) -> None:
        """Have a person open addresses, each with a reason. Raises `ToolError` if nobody does."""
        for message, url in urls:
            given = await caller.asked(message, None, url) if caller.asked is not None else None
            if given is None or given[0] != "accept":
                name = caller.server or self.name
                raise ToolError(f"{tool} of {name} needs a person to open {url}, and none did: {message}")

    async def read(self, uri: str, caller: Caller = Caller()) -> ReadResourceResult:
        """Return the contents of a resource of the server. Raises `ToolError`."""
        return await self._asked(f"reading {uri}", lambda client: client.read_resource(uri), caller)

    async def prompt(self, name: str, arguments: dict[str, str], caller: Caller = Caller()) -> GetPromptResult:
        """Return a prompt of the server. Raises `ToolError`."""
        return await self._asked(f"the prompt {name}", lambda client: client.get_prompt(name, arguments), caller)

    async def _asked(self, what: str, ask: Callable[[Client], Awaitable[T]], caller: Caller) -> T:
        call, ended = Call(caller, caller.timeout or self.server.timeout), self._ended
        name = caller.server or self.name
        self.answers.begin(call)
        try:
            client = self._live or await self._reached(name)
            ended = self._ended
            with call.limit:
                call.count()
                return await ask(client)
            raise ToolError(f"{what} of {name} gave no answer in {call.timeout:g} s")
        except Exception as error:
            if (told := self._failed(what, name, error, ended)) is None:
                raise
            raise told from error
        finally:
            self.answers.end(call)

    def _failed(self, what: str, name: str, error: Exception, ended: anyio.Event) -> ToolError | None:
        """Return an error of the server or the library in words, None for others, which are raised unchanged."""
        from mcp import MCPError

        if is_invalid(error):
            return ToolError(f"the MCP server {name!r} has answered {what}, but not so that it can be read")
        if not isinstance(error, MCPError):
            return None
        if error.error.code == _URLS_WANTED and (urls := _urls_of(error.error.data)):
            return _UrlsWanted(urls)
        if ended.is_set() or (error.error.code == _CLOSED and error.error.message.startswith(_CLOSED_WORDS)):
            words = "has gone away during the call: whether it took effect is unknown"
            return CallCut(f"the MCP server {name!r} {words}")
        refusal = self._transport.words if self._transport is not None and self.server.way != "stdio" else ""
        return ToolError(f"{what} of {name} failed: {refusal or sound(error.error.message)[:LONGEST]}")

    async def _reached(self, name: str) -> Client:
        """Connect now and return the session. Raises `ToolError` if there is none."""
        self._wanted.set()
        standing = await self._back()
        if self._client is None:
            raise ToolError(f"the MCP server {name!r} is not there: {standing.problem}")
        return self._client

    async def _back(self) -> Standing:
        """Return the state once there is a session, or the next attempt has failed."""
        tries = self._tries
        with anyio.move_on_after(self.server.connect_timeout):
            async for standing in self.changes():
                if (standing.ready and self._live is not None) or (standing.problem and self._tries > tries):
                    break
        return self.standing

    async def _hold(self, end: _End) -> None:
        """Hold one session, from its beginning to its end."""
        transport = self._transport = transport_of(self.server, self._place, self._tokens, self._hide)
        try:
            await self._check_program()
            with anyio.move_on_after(self.server.connect_timeout) as connecting:
                async with transport.opened(self.answers) as client:
                    self.answers.stale = anyio.Event()
                    found = await listed(client)
                    connecting.deadline = float("inf")
                    self._client, self._gone = client, transport.ended
                    protocol = str(client.protocol_version or "")
                    self._sessions += 1
                    self._stand(
                        Standing(found, protocol=protocol, has_session=transport.has_session, session=self._sessions)
                    )
                    end.idle = await self._follow(client, transport.ended)
            if connecting.cancelled_caught:
                end.problem = f"it did not answer within {self.server.connect_timeout:g} s"
        except Exception as error:
            end.problem = cause_of(error)
        finally:
            if said := sound(transport.words.strip().rpartition("\n")[2])[:LONGEST]:
                end.problem = f"{end.problem or 'it ended'}: {said}"
            self._ended.set()

    async def _check_program(self) -> None:
        """Raise `ConfigurationError` if the server's program has changed: also one that has crashed begins anew."""
        pinned = self.server.pinned
        if pinned and (path := await anyio.to_thread.run_sync(changed, pinned, "/")) is not None:
            raise ConfigurationError(f"{path} {CHANGED}")

    async def _follow(self, client: Client, ended: anyio.Event) -> bool:
        """List the tools again whenever they have changed, until the session ends. Return whether it was idle."""
        answers, idle = self.answers, False
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                while True:
                    await answers.stale.wait()
                    answers.stale = anyio.Event()
                    with anyio.fail_after(self.server.connect_timeout):
                        tools = await tools_of(client)
                    found = msgspec.structs.replace(self.standing.listed, tools=tools)
                    self._stand(msgspec.structs.replace(self.standing, listed=found, problem=""))

            tasks.start_soon(listen)
            tasks.start_soon(self._subscribe, client)
            if idle := await self._idle_or(ended):
                self._client = None
            tasks.cancel_scope.cancel()
        return idle

    async def _idle_or(self, ended: anyio.Event) -> bool:
        """Wait until the session has ended (False), or had no call for `idle_timeout` seconds (True)."""
        limit = self.server.idle_timeout if self.server.way != "stdio" else None
        if limit is None:
            await ended.wait()
            return False
        while True:
            left = limit - self.answers.rested
            if left <= 0:
                return True
            with anyio.move_on_after(left):
                await ended.wait()
                return False

    async def _subscribe(self, client: Client) -> None:
        """Subscribe to changes of the tools, if the protocol has that: from revision 2026-07-28 on."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        from mcp import MCPError

        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    self.answers.stale.set()  # for changes before the subscription
                    async for _ in changes:
                        self.answers.stale.set()
            except (ListenNotSupportedError, MCPError):
                return
            except SubscriptionLost:
                self.answers.stale.set()
            await anyio.sleep(FIRST_WAIT)

    def _stand(self, standing: Standing) -> None:
        self.standing = msgspec.structs.replace(standing, number=self.standing.number + 1)
        self._changed.set()
        self._changed = anyio.Event()


class _End:
    """Why a session has ended."""

    problem, idle = "", False


@asynccontextmanager
async def connected(
    name: str, server: MCPServer, place: Place | None = None, tokens: Tokens | None = None
) -> AsyncIterator[Connection]:
    """Run a connection until the context is left."""
    connection = Connection(name, server, place, tokens)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        try:
            yield connection
        finally:
            tasks.cancel_scope.cancel()
