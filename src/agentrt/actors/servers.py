"""`Servers`: the MCP servers of one conversation. Their tools become events, and tools that the agent can call."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import TaskGroup
from msgspec.structs import replace

from ..errors import ActorError, ConfigurationError, LogError, ServerMissing, ToolError
from ..events import MessageEvent, ToolsChanged
from ..mcp.answering import Caller
from ..mcp.asking import ConnectServer, FinishLogin, ListServers, LogIn, LogOut, ServerAnswer, ServerQuestion
from ..mcp.connection import Connection, Standing
from ..mcp.connections import Connections, Whose
from ..mcp.definitions import definitions
from ..mcp.login import Redirected
from ..mcp.mentions import prompt_in, resources_in
from ..mcp.pinning import ToolPins
from ..mcp.results import read_of, said_by
from ..mcp.status import LoginAddress, ServerList, ServerStatus, status_of
from ..pins import changed
from ..secrets import SecretRegistry
from ..specs import Content, ToolDefinition
from ..specs.content import plain, text
from ..specs.credentials import headers_of, shown_by
from ..specs.deferral import CALL, SEARCH, tokens_of
from ..specs.mcp import MCPServer, expanded
from ..storing import Shelf
from ..tools.definition import Tools
from .event_log import Log
from .remote_tools import remote_tool
from .results import bounded
from .side_calls import SideCalls
from .tool_search import searching_tools

USUAL_WINDOW = 128_000
"""Tokens of a model's window where that is not known."""

SHORTEST_PAUSE, LONGEST_PAUSE, CALM = 0.5, 30.0, 10.0
"""Seconds after a change in which others are not told yet: it grows while less than `CALM` lies between two of them."""

PATIENCE = 5.0
"""Seconds that a server may be away before its tools are taken away."""


Read: TypeAlias = Callable[[Connection, Caller], Awaitable[tuple[Content, ...]]]
"""Reads something of a server. Raises `ToolError`."""


class Servers:
    """Follows the servers of a conversation from when it is opened until it leaves memory."""

    def __init__(
        self,
        log: Log,
        connections: Connections,
        tools: Tools,
        secrets: SecretRegistry,
        whose: Whose,
        calls: SideCalls,
        shelf: Shelf | None = None,
    ) -> None:
        self._log, self._connections, self._tools, self._secrets = log, connections, tools, secrets
        self._calls = calls
        self._whose, self._pins = whose, ToolPins(shelf, whose.owner) if shelf is not None else None
        self._saying = anyio.Lock()
        self._anew: dict[str, dict[str, str]] = {}
        """By server, the digests of the tools that are not as they were first seen."""
        self._there: dict[str, asyncio.Future[Connection]] = {}
        self._heard: dict[str, anyio.Event] = {}
        """Set once it is known what a server offers, or that it is not there."""
        self._again: dict[str, anyio.Event] = {}
        """Set to have a server tried again that lacked a variable."""

    def begin(self, tasks: TaskGroup) -> None:
        """Connect to those that the agent has by now, in the background; what the log offers can be called at once."""
        state = self._log.state
        for name, server in state.spec.mcp_servers.items():
            if server.disabled or name in self._there:
                continue
            self._there[name] = asyncio.get_running_loop().create_future()
            earlier = tuple(self._heard.values())
            self._heard[name], self._again[name] = anyio.Event(), anyio.Event()
            if (before := state.servers.get(name)) is not None:
                self._learn(name, before.tools)
                self._tools.learn(searching_tools(state, lambda: self._log.state))
            tasks.start_soon(self._follow, name, server, earlier)

    def _learn(self, name: str, tools: Sequence[ToolDefinition]) -> None:
        timeout = self._log.state.spec.mcp_servers[name].timeout
        self._tools.learn(
            [remote_tool(tool, partial(self._connection, name, tool), self._calls, timeout) for tool in tools]
        )

    async def _connection(self, name: str, tool: ToolDefinition) -> Connection:
        connection = await asyncio.shield(self._there[name])
        said = self._anew.get(name, {}).get(tool.remote)
        if said is not None and self._pins is not None and self._was_asked(tool.name):
            await self._pins.accept(name, self._log.state.spec.mcp_servers[name], {tool.remote: said})
            await self._say(name, connection.standing)
        return connection

    def _was_asked(self, tool: str) -> bool:
        """Whether a person has let a call of a tool run that runs now."""
        pending = self._log.state.branch.pending
        return any(p.action.tool_name == tool and p.command is not None and p.approved for p in pending)

    async def _follow(self, name: str, server: MCPServer, earlier: Sequence[anyio.Event]) -> None:
        """Say how a server stands, from now on. Those that stand before it in the configuration are heard first: they
        choose the names of their tools first, however long they take to start.
        """
        try:
            filled = await self._filled_once(name, server)
            async with self._connections.use(name, filled, self._whose, self._secrets.seed) as connection:
                self._there[name].set_result(connection)
                standing = await connection.ready()
                for heard in earlier:
                    await heard.wait()
                await self._say(name, standing)
                self._heard[name].set()
                await self._tell_changes(name, connection, standing.number)
        except (ActorError, LogError):
            return
        finally:
            self._heard[name].set()

    async def _filled_once(self, name: str, server: MCPServer) -> MCPServer:
        """The server with the values of its variables, once there are some: tried again when somebody asks for that,
        and when a secret has come.
        """
        while True:
            again = self._again[name] = anyio.Event()
            self._secrets.listeners.append(again.set)
            try:
                return await self._filled(server)
            except (ConfigurationError, ToolError) as error:
                failed = self._there[name]
                failed.set_exception(ToolError(f"the MCP server {name!r} is not there: {error}"))
                failed.exception()  # it is told, whether or not somebody calls
                await self._say(name, Standing(problem=str(error)))
                self._heard[name].set()
                await again.wait()
                self._there[name] = asyncio.get_running_loop().create_future()
            finally:
                self._secrets.listeners.remove(again.set)

    async def _tell_changes(self, name: str, connection: Connection, number: int) -> None:
        """Say each change, those that come one upon the other as one, with growing pauses."""
        pause, since = 0.0, anyio.current_time()
        while True:
            standing = await anext(connection.changes(number))
            if standing.problem:
                standing = await _settled(connection)
            await self._say(name, standing)
            number, now = standing.number, anyio.current_time()
            pause = min(max(2 * pause, SHORTEST_PAUSE), LONGEST_PAUSE) if now - since < CALM else 0.0
            since = now
            await anyio.sleep(pause)

    async def ask(self, question: ServerQuestion) -> ServerAnswer:
        """The answer to a person. Raises `ServerMissing`, `ToolError` or `ConfigurationError`."""
        try:
            return await self._answered(question)
        except (ToolError, ConfigurationError) as error:
            raise type(error)(self._secrets.mask.text(str(error))) from None

    async def _answered(self, question: ServerQuestion) -> ServerAnswer:
        match question:
            case ListServers():
                return ServerList(items=tuple(map(self._status, sorted(self._log.state.spec.mcp_servers))))
            case ConnectServer(name):
                return await self._connect(name)
            case LogIn(name, redirect, proof):
                server = await self._filled(self._server(name))
                url = await self._connections.begin_login(server, self._whose.owner, redirect, proof)
                return LoginAddress(url=url)
            case FinishLogin(name, address):
                self._server(name)
                found = Redirected.read(urlsplit(address).query)
                await self._connections.logins.finish_for(self._whose.owner, found)
                return self._status(name)
            case LogOut(name):
                return await self._log_out(name)

    async def _connect(self, name: str) -> ServerStatus:
        server = self._server(name)
        if (connection := self._held(name)) is None:
            self._again[name].set()
            with anyio.move_on_after(server.connect_timeout):
                await anyio.lowlevel.checkpoint()  # the follower begins anew
                await asyncio.wait([self._there[name]])
            connection = self._held(name)
        if connection is not None:
            if connection.standing.problem:
                await connection.retried()
            await self._say(name, connection.standing)
        return self._status(name)

    async def _log_out(self, name: str) -> ServerStatus:
        server = await self._filled(self._server(name))
        tokens = self._connections.tokens(self._whose.owner)
        if tokens is None or not await tokens.drop(server.url):
            raise ConfigurationError(f"nobody is logged in at {name}")
        if (connection := self._held(name)) is not None:
            await connection.retried()
        return self._status(name)

    def _server(self, name: str) -> MCPServer:
        servers = self._log.state.spec.mcp_servers
        if name not in servers:
            raise ServerMissing(name, tuple(servers))
        return servers[name]

    def _held(self, name: str) -> Connection | None:
        there = self._there.get(name)
        return there.result() if there is not None and there.done() and there.exception() is None else None

    def _status(self, name: str) -> ServerStatus:
        state, connection = self._log.state, self._held(name)
        server, masked = state.spec.mcp_servers[name], self._secrets.mask.text
        return status_of(name, server, state.servers.get(name), connection, masked)

    async def attached(self, message: MessageEvent) -> tuple[MessageEvent, ...]:
        """What a message of a user names of servers: a prompt at its beginning, and resources. What cannot be had is
        said in its place.
        """
        words, wanted = plain(message.content), list[tuple[str, str, Read]]()
        if (found := prompt_in(words, self._there)) is not None:
            server, name, arguments = found
            title = f"The prompt {name} of {server}, which the user asks for"
            wanted.append((server, title, partial(_prompt, name, arguments)))
        for server, uri in resources_in(words, self._there):
            wanted.append((server, f"@{server}:{uri}; nobody vouches for what it says", partial(_resource, uri)))
        return tuple([await self._attachment(message, *each) for each in wanted])

    async def _attachment(self, message: MessageEvent, server: str, title: str, read: Read) -> MessageEvent:
        try:
            caller = Caller(server, self._log.state.spec.mcp_servers[server].timeout)
            content = await read(await asyncio.shield(self._there[server]), caller)
        except ToolError as error:
            content = text(f"It cannot be read: {error}")
        content = await bounded(content, self._log, self._secrets)
        shown = (*text(f"[{title}]"), *content)
        return MessageEvent(content=shown, labels=("mcp",), caused_by=message.id)

    async def _filled(self, server: MCPServer) -> MCPServer:
        """The server with the values of its variables. Raises `ConfigurationError` or `ToolError`."""
        created = self._log.state.created
        assert created is not None
        workspace = created.workspace.path
        if (path := await anyio.to_thread.run_sync(changed, server.pinned, workspace)) is not None:
            raise ConfigurationError(f"{path} is not as it was when a person agreed to run it: agree to it again")
        values = await self._secrets.named_in(" ".join(f"${{{variable}}}" for variable in server.variables))
        filled = expanded(server, values.get)
        self._secrets.seed(shown_by({**filled.headers, **headers_of(filled.credentials)}))
        if filled.way != "stdio" or filled.shared:  # one that is shared is of no workspace
            return filled
        return replace(filled, cwd=os.path.join(workspace, filled.cwd))

    async def _say(self, name: str, standing: Standing) -> None:
        """Log what is offered from now on, where that is something else than before."""
        async with self._saying:
            try:
                event = await self._event(name, standing)
            except ConfigurationError as error:  # what it said before cannot be read, so its tools cannot be trusted
                event = await self._event(name, Standing(problem=str(error)))
            before = self._log.state.servers.get(name)
            if before is None or _offer(before) != _offer(event):
                await self._log.append(event)
                self._tools.learn(searching_tools(self._log.state, lambda: self._log.state))

    async def _event(self, name: str, standing: Standing) -> ToolsChanged:
        """What a server offers as it stands. Raises `ConfigurationError` where its pins cannot be had."""
        before = self._log.state.servers.get(name)
        if standing.problem:
            told = _told(name, before, (), standing.problem)
            deferred = before is not None and before.deferred
            return ToolsChanged(server=name, problem=standing.problem, told=told, deferred=deferred)
        tools = await self._pinned(name, self._definitions(name, standing))
        offered = tuple(map(self._tools.offered, tools))
        self._learn(name, offered)
        return ToolsChanged(
            server=name,
            tools=offered,
            told=_told(name, before, offered, ""),
            prompts=standing.listed.prompts,
            changed=tuple(tool.name for tool in offered if tool.changed),
            deferred=self._are_many(name, offered),
        )

    def _are_many(self, name: str, tools: Sequence[ToolDefinition]) -> bool:
        """Whether a server's tools take too much of the window beside the others' that are offered, or once did."""
        state = self._log.state
        if (share := state.spec.tool_search) is None:
            return False
        if (before := state.servers.get(name)) is not None and before.deferred:
            return True
        others = (one.tools for other, one in state.servers.items() if other != name and not one.deferred)
        taken = sum(tokens_of(tool) for offer in (tools, *others) for tool in offer)
        return taken > share * (self._calls.window() or USUAL_WINDOW)

    def _definitions(self, name: str, standing: Standing) -> tuple[ToolDefinition, ...]:
        state, masked = self._log.state, self._secrets.mask.text
        server, names = state.spec.mcp_servers[name], state.ledger.names
        others = (tool for tool, (other, _) in names.items() if other != name)
        return definitions(
            name,
            # one whose name holds a secret could be neither shown nor pinned
            [tool for tool in standing.listed.tools if masked(tool.name) == tool.name],
            {*self._tools.names, *others, SEARCH, CALL},
            server.include,
            server.exclude,
            state.spec.filter_tools_regex,
            standing.listed.resources,
            {remote: tool for tool, (other, remote) in names.items() if other == name},
        )

    async def _pinned(self, name: str, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        """The tools, those marked that are not as they were first seen."""
        if self._pins is None:
            return tools
        anew = self._anew[name] = await self._pins.changed(name, self._log.state.spec.mcp_servers[name], tools)
        return tuple(replace(tool, changed=True) if tool.remote in anew else tool for tool in tools)


def _offer(event: ToolsChanged) -> tuple[object, ...]:
    """The part of an event that makes it another one."""
    return (event.tools, event.problem, event.prompts, event.deferred)


def _told(name: str, before: ToolsChanged | None, tools: Sequence[ToolDefinition], problem: str) -> str:
    """What the model is told of a change; nothing of the first tools, which it finds."""
    if problem:
        return f"The MCP server {name} is not available, nor are its tools: {problem}"
    if before is None:
        return ""
    if before.problem:
        return f"The MCP server {name} is available again, with its tools."
    old, new = ({tool.name for tool in given} for given in (before.tools, tools))
    parts = [
        f"{word}: {', '.join(sorted(names))}" for word, names in (("new", new - old), ("gone", old - new)) if names
    ]
    return f"The tools of the MCP server {name} have changed{': ' if parts else ''}{'; '.join(parts)}."


async def _prompt(name: str, arguments: dict[str, str], connection: Connection, caller: Caller) -> tuple[Content, ...]:
    return said_by(await connection.prompt(name, arguments, caller))


async def _resource(uri: str, connection: Connection, caller: Caller) -> tuple[Content, ...]:
    return read_of(await connection.read(uri, caller))


async def _settled(connection: Connection) -> Standing:
    """How a connection stands after it was lost and had some time to come back."""
    with anyio.move_on_after(PATIENCE):
        async for standing in connection.changes():
            if not standing.problem:
                break
    return connection.standing
