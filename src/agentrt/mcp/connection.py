"""`Connection`: the one owner of a session with a server. Others ask it, and its death is told to those who use it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import msgspec

from ..errors import ToolError
from ..specs.content import sound
from ..specs.mcp import MCPServer
from .transports import transport_of

if TYPE_CHECKING:
    from mcp_types import CallToolResult, CreateMessageRequestParams, GetPromptResult, ReadResourceResult, Tool

    from mcp import Client

T = TypeVar("T")

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before a server that went away is tried again; the wait doubles."""

MOST_PAGES = 100
"""Pages of a list of tools that are read."""

MOST_LINES = 200
"""Lines of a server's log that are kept."""

LONGEST_LINE = 2000
"""Characters of one."""

REFUSED = -1
"""The code for what a user does not want (as the specification's example has it)."""

_GONE = (-32000,)
"""Codes of the library for a connection that is closed."""

Progress = Callable[[float, float | None, str | None], None]


class Caller(msgspec.Struct, frozen=True):
    """Who makes a call: `told` how far it has come and what is logged, and asked what the server asks a person.

    `asked` takes a message, the schema of a form and an address, and gives a verdict and what was filled in; None where
    there is nobody to ask.
    """

    told: Progress = lambda done, of, words: None
    logged: Callable[[str], None] = lambda line: None
    asked: Callable[[str, dict[str, Any] | None, str], Awaitable[tuple[str, dict[str, Any]] | None]] | None = None
    sampled: Callable[[CreateMessageRequestParams], Awaitable[tuple[str, str] | None]] | None = None
    """Has the conversation's model answer: its words and its name; None where a person does not want that."""


class Standing(msgspec.Struct, frozen=True):
    """How a connection stands: the tools that the server has, or why there is no server."""

    tools: tuple[Any, ...] = ()
    resources: tuple[Any, ...] = ()
    """Its resources, and its templates of resources."""
    prompts: tuple[str, ...] = ()
    """The names of its prompts."""
    problem: str = ""
    number: int = 0
    """Grows with each change."""
    protocol: str = ""
    """The revision of the protocol that was agreed on."""

    @property
    def ready(self) -> bool:
        """Whether its tools can be called."""
        return bool(self.number) and not self.problem


class Connection:
    """Runs in a task of its own (`run`), which alone holds the session: it connects, says what changes, and connects
    again with growing waits when the server has gone away.

    A dying transport may cancel the task that holds it, so that is a task below `run`, and nobody else's.
    """

    def __init__(self, name: str, server: MCPServer, mark: str = "") -> None:
        self.name, self.server = name, server
        self.standing = Standing()
        self.workspaces: list[str] = []
        """Those of the conversations that use it, as its roots."""
        self.lines = deque[str](maxlen=MOST_LINES)
        """The last lines of the server's log."""
        self._calls: list[_Call] = []
        self._mark = mark
        self._client: Client | None = None
        self._changed = anyio.Event()
        self._wanted = anyio.Event()
        self._ended = anyio.Event()
        self._gone = anyio.Event()
        self._tries = 0
        self._stale = anyio.Event()

    async def run(self) -> None:
        """Hold the session until this is cancelled."""
        wait = FIRST_WAIT
        while True:
            begun, self._tries = time.monotonic(), self._tries + 1
            self._ended, problem = anyio.Event(), _Problem()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hold, problem)
                await self._ended.wait()
                tasks.cancel_scope.cancel()
            self._client = None
            self._stand(Standing(problem=problem.words or "it has closed the connection"))
            wait = FIRST_WAIT if time.monotonic() - begun > LONGEST_WAIT else min(wait * 2, LONGEST_WAIT)
            with anyio.move_on_after(wait):
                await self._wanted.wait()
            self._wanted = anyio.Event()

    async def changes(self, after: int = 0) -> AsyncIterator[Standing]:
        """How it stands, each time that it has changed."""
        while True:
            if self.standing.number > after:
                after = self.standing.number
                yield self.standing
            else:
                await self._changed.wait()

    async def ready(self) -> Standing:
        """How it stands once it is known, `connect_timeout` seconds from now at most."""
        with anyio.move_on_after(self.server.connect_timeout):
            async for standing in self.changes():
                return standing
        return Standing(problem=f"it did not answer within {self.server.connect_timeout:g} s", number=1)

    async def call(self, tool: str, arguments: dict[str, Any], caller: Caller = Caller()) -> CallToolResult:
        """What a tool of the server answers. Raises `ToolError` that names the server, the cause, and what to do."""

        async def show(progress: float, total: float | None, message: str | None) -> None:
            caller.told(progress, total, message)

        def asked(client: Client) -> Awaitable[CallToolResult]:
            return client.call_tool(tool, arguments, progress_callback=show)

        call = _Call(caller)
        self._calls.append(call)
        try:
            return await self._asked(tool, asked, call.limit)
        finally:
            self._calls.remove(call)

    async def read(self, uri: str) -> ReadResourceResult:
        """What a resource of the server holds. Raises `ToolError`."""
        return await self._asked(f"reading {uri}", lambda client: client.read_resource(uri))

    async def prompt(self, name: str, arguments: dict[str, str]) -> GetPromptResult:
        """What a prompt of the server says. Raises `ToolError`."""
        return await self._asked(f"the prompt {name}", lambda client: client.get_prompt(name, arguments))

    async def _asked(
        self, what: str, ask: Callable[[Client], Awaitable[T]], limit: anyio.CancelScope | None = None
    ) -> T:
        client = None if self._gone.is_set() else self._client
        if client is None:
            self._wanted.set()
            standing = await self._back()
            if (client := self._client) is None:
                raise ToolError(f"the MCP server {self.name!r} is not there: {standing.problem}")
        from mcp import MCPError

        ended = self._ended
        try:
            with limit or anyio.CancelScope() as scope:
                scope.deadline = anyio.current_time() + self.server.timeout
                return await ask(client)
            raise ToolError(f"{what} of {self.name} gave no answer in {self.server.timeout:g} s")
        except MCPError as error:
            if ended.is_set() or error.error.code in _GONE:
                words = "the MCP server {!r} has gone away during the call: whether it took effect is unknown"
                raise ToolError(words.format(self.name)) from error
            raise ToolError(f"{what} of {self.name} failed: {sound(error.error.message)}") from error

    async def _back(self) -> Standing:
        """How it stands after the next try."""
        tries = self._tries
        with anyio.move_on_after(self.server.connect_timeout):
            async for standing in self.changes():
                if (standing.ready and not self._gone.is_set()) or (standing.problem and self._tries > tries):
                    break
        return self.standing

    async def _hold(self, problem: _Problem) -> None:
        """One session, from its beginning to its end."""
        transport = transport_of(self.server, self._mark)
        try:
            with anyio.move_on_after(self.server.connect_timeout) as connecting:
                async with transport.opened(self) as client:
                    tools, resources, prompts = (
                        await _listed(client),
                        await _readable(client),
                        await _prompts(client),
                    )
                    connecting.deadline = float("inf")
                    self._client, self._gone = client, transport.ended
                    protocol = str(client.protocol_version or "")
                    self._stand(Standing(tools=tools, resources=resources, prompts=prompts, protocol=protocol))
                    await self._follow(client, transport.ended)
                    problem.words = "it has closed the connection"
            if connecting.cancelled_caught:
                problem.words = f"it did not answer within {self.server.connect_timeout:g} s"
        except Exception as error:
            problem.words = problem.words or _told(error)
        finally:
            if said := sound(transport.words.strip().rpartition("\n")[2]):
                problem.words = f"{problem.words or 'it ended'}: {said}"
            self._ended.set()

    async def _follow(self, client: Client, ended: anyio.Event) -> None:
        """List its tools anew when it says that they have changed, until it ends."""
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                while True:
                    await self._stale.wait()
                    self._stale = anyio.Event()
                    self._stand(msgspec.structs.replace(self.standing, tools=await _listed(client), problem=""))

            self._stale = anyio.Event()
            tasks.start_soon(listen)
            tasks.start_soon(self._subscribe, client)
            await ended.wait()
            tasks.cancel_scope.cancel()

    async def _subscribe(self, client: Client) -> None:
        """Be told of changes where the protocol has a subscription for that: from revision 2026-07-28 on."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        from mcp import MCPError

        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._stale.set()
            except (ListenNotSupportedError, MCPError):
                return
            except SubscriptionLost:
                self._stale.set()
            await anyio.sleep(FIRST_WAIT)

    async def heard(self, message: Any) -> None:
        """What the server says of its own accord."""
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification) and self._client is not None:
            self._stale.set()
        await anyio.lowlevel.checkpoint()

    async def logged(self, message: Any) -> None:
        """A line of the server's log; who calls it alone sees it, too."""
        said = message.data if isinstance(message.data, str) else msgspec.json.encode(message.data).decode()
        line = sound(f"{message.level}: {said}")[:LONGEST_LINE]
        self.lines.append(line)
        if len(self._calls) == 1:
            self._calls[0].caller.logged(line)
        await anyio.lowlevel.checkpoint()

    async def elicited(self, context: Any, params: Any) -> Any:
        """What a person answers to the server, who is asked by the call that runs.

        No is said where there is nobody to ask, and where it cannot be told whose call it is: those of several
        conversations run. The time that a person takes does not count for the call.
        """
        from mcp_types import ElicitResult

        await anyio.lowlevel.checkpoint()
        call = self._calls[0] if len(self._calls) == 1 else None
        if call is None or call.caller.asked is None:
            return ElicitResult(action="decline")
        url = str(getattr(params, "url", "") or "")
        form = None if url else params.requested_schema
        with self._not_counted(call):
            answer = await call.caller.asked(sound(params.message), form, url)
        if answer is None:
            return ElicitResult(action="decline")
        verdict, content = answer
        return ElicitResult(action=verdict, content=content if verdict == "accept" and not url else None)  # type: ignore[arg-type]

    async def sampled(self, context: Any, params: Any) -> Any:
        """What the model of the conversation says whose call runs, where a person wants that."""
        from mcp_types import CreateMessageResult, ErrorData, TextContent

        await anyio.lowlevel.checkpoint()
        call = self._calls[0] if len(self._calls) == 1 else None
        said = None
        if call is not None and call.caller.sampled is not None:
            with self._not_counted(call):
                said = await call.caller.sampled(params)
        if said is None:
            return ErrorData(code=REFUSED, message="the user does not want the model to be asked")
        words, model = said
        return CreateMessageResult(
            role="assistant", content=TextContent(text=words), model=model, stop_reason="endTurn"
        )

    @contextmanager
    def _not_counted(self, call: _Call) -> Iterator[None]:
        """Time that does not count for a call."""
        call.limit.deadline = float("inf")
        try:
            yield
        finally:
            call.limit.deadline = anyio.current_time() + self.server.timeout

    async def roots(self, context: Any) -> Any:
        """The workspaces of those who use it."""
        from mcp_types import ListRootsResult, Root

        await anyio.lowlevel.checkpoint()
        places = (Path(place) for place in dict.fromkeys(self.workspaces))
        return ListRootsResult(roots=[Root(uri=place.as_uri(), name=place.name) for place in places])  # type: ignore[arg-type]

    def _stand(self, standing: Standing) -> None:
        self.standing = msgspec.structs.replace(standing, number=self.standing.number + 1)
        self._changed.set()
        self._changed = anyio.Event()


class _Call:
    """A call that runs: who makes it, and the time that it may take."""

    def __init__(self, caller: Caller) -> None:
        self.caller, self.limit = caller, anyio.CancelScope()


class _Problem:
    """Why a session has ended."""

    words = ""


async def _listed(client: Client) -> tuple[Tool, ...]:
    """All tools of a server."""
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(found)


async def _readable(client: Client) -> tuple[Any, ...]:
    """The first resources of a server, and its templates; none where it has none, or cannot say."""
    from mcp import MCPError

    if client.server_capabilities.resources is None:
        return ()
    found: tuple[Any, ...] = ()
    with suppress(MCPError):
        found = tuple((await client.list_resources()).resources)
    with suppress(MCPError):
        found = (*found, *(await client.list_resource_templates()).resource_templates)
    return found


async def _prompts(client: Client) -> tuple[str, ...]:
    """The names of a server's first prompts; none where it has none, or cannot say."""
    from mcp import MCPError

    if client.server_capabilities.prompts is None:
        return ()
    with suppress(MCPError):
        return tuple(prompt.name for prompt in (await client.list_prompts()).prompts)
    return ()


def _told(error: BaseException) -> str:
    """The innermost cause of an error, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if type(error).__name__ == "MCPError" and str(error) == "Connection closed":
        return "it has closed the connection"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename!r}: install it, or give its path"
    return sound(f"{type(error).__name__}: {error}")


@asynccontextmanager
async def connected(name: str, server: MCPServer, mark: str = "") -> AsyncIterator[Connection]:
    """A connection, from when this is entered until it is left."""
    connection = Connection(name, server, mark)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        try:
            yield connection
        finally:
            tasks.cancel_scope.cancel()


__all__: Sequence[str] = ("Connection", "Standing", "connected")
