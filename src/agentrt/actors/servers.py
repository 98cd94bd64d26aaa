"""`Servers`: the MCP servers of one conversation. Logs the tools that they offer, and lets the agent call these."""

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

from ..decisions import server_restarted
from ..errors import ActorError, ConfigurationError, LogError, ServerMissing, ToolError
from ..events import MessageEvent, ToolsChanged
from ..mcp.answering import Caller
from ..mcp.asking import ConnectServer, FinishLogin, ListServers, LogIn, LogOut, ServerAnswer, ServerQuestion
from ..mcp.connection import Connection, Standing
from ..mcp.connections import Connections, Whose
from ..mcp.definitions import definitions
from ..mcp.login import Redirected
from ..mcp.mentions import prompt_in, resources_in
from ..mcp.pinning import CHANGED, CHANGED_OFFER, ToolPins, is_confined, started_safely
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
"""Assumed context window of a model, in tokens, if it is unknown."""

SHORTEST_PAUSE, LONGEST_PAUSE, CALM = 0.5, 30.0, 10.0
"""Seconds to wait after a change before the next one is logged. The wait doubles, from the shortest to the longest,
while changes are less than `CALM` seconds apart; else there is none."""

PATIENCE = 5.0
"""Seconds that a server may be unavailable before its tools are withdrawn."""


Read: TypeAlias = Callable[[Connection, Caller], Awaitable[tuple[Content, ...]]]
"""Reads content from a server. Raises `ToolError`."""


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
        self._sessions: dict[str, int] = {}
        """The number of each server's session when its tools were last logged."""
        self._anew: dict[str, dict[str, str]] = {}
        """By server, the digests of the tools that differ from when they were first seen."""
        self._there: dict[str, asyncio.Future[Connection]] = {}
        self._heard: dict[str, anyio.Event] = {}
        """By server, set once it is known what it offers, or that it is unavailable."""
        self._again: dict[str, anyio.Event] = {}
        """By server, set to try it again after it lacked a variable."""

    def begin(self, tasks: TaskGroup) -> None:
        """Connect in the background to the agent's current servers. The tools in the log can be called at once."""
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
            [
                remote_tool(
                    tool, partial(self._connection, name, tool), self._calls, timeout, partial(self._restarted, name)
                )
                for tool in tools
            ]
        )

    def _restarted(self, name: str) -> bool:
        """Return whether a server is a process of this conversation, and has ended since its session was logged."""
        server, there = self._log.state.spec.mcp_servers.get(name), self._there.get(name)
        known = self._sessions.get(name, 0)
        if not known or server is None or not server.command or server.shared or there is None or not there.done():
            return False
        return there.exception() is None and there.result().session != known

    async def _connection(self, name: str, tool: ToolDefinition) -> Connection:
        connection = await asyncio.shield(self._there[name])
        said = self._anew.get(name, {}).get(tool.remote)
        if said is not None and self._pins is not None and self._was_asked(tool.name):
            await self._pins.accept(name, self._log.state.spec.mcp_servers[name], {tool.remote: said})
            await self._say(name, connection.standing)
        return connection

    def _was_asked(self, tool: str) -> bool:
        """Return whether a person has approved a call of the tool that runs now."""
        pending = self._log.state.branch.pending
        return any(p.action.tool_name == tool and p.command is not None and p.approved for p in pending)

    async def _follow(self, name: str, server: MCPServer, earlier: Sequence[anyio.Event]) -> None:
        """Log what a server offers, and its changes from now on.

        The servers before it in the configuration come first: they choose the names of their tools first, however long
        they take to start.
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
        """Return the server with the values of its variables. If that fails, log the problem, and try again when a user
        asks for it or a secret is added.
        """
        while True:
            again = self._again[name] = anyio.Event()
            self._secrets.listeners.append(again.set)
            try:
                return await self._filled(server)
            except (ConfigurationError, ToolError) as error:
                failed = self._there[name]
                failed.set_exception(ToolError(f"the MCP server {name!r} is not there: {error}"))
                failed.exception()  # retrieved here, since perhaps nobody awaits it
                await self._say(name, Standing(problem=str(error)))
                self._heard[name].set()
                await again.wait()
                self._there[name] = asyncio.get_running_loop().create_future()
            finally:
                self._secrets.listeners.remove(again.set)

    async def _tell_changes(self, name: str, connection: Connection, number: int) -> None:
        """Log each change, with growing pauses. Changes during a pause are logged as one."""
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
        """Return the answer to a user's question. Raise `ServerMissing`, `ToolError` or `ConfigurationError`."""
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
                await anyio.lowlevel.checkpoint()  # lets the follower start over
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
        """Return what a user's message names of servers: a prompt at its beginning, and resources. If one cannot be
        read, the error stands in its place.
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
        """Return the server with the values of its variables. Raise `ConfigurationError` or `ToolError`."""
        created = self._log.state.created
        assert created is not None
        workspace = created.workspace.path
        if (path := await anyio.to_thread.run_sync(changed, server.pinned, workspace)) is not None:
            offers = self._log.state.context.offers if self._log.state.context is not None else ()
            is_offered = any(server.pinned == one.pinned for offer in offers for one in offer.servers.values())
            raise ConfigurationError(f"{path} {CHANGED_OFFER if is_offered else CHANGED}")
        values = await self._secrets.named_in(" ".join(f"${{{name}}}" for name in server.variables), by_server=True)
        pins = tuple((os.path.join(workspace, path), digest) for path, digest in server.pinned)
        filled = replace(expanded(server, values.get), pinned=pins, confined=is_confined(server, workspace))
        self._secrets.seed(shown_by({**filled.headers, **headers_of(filled.credentials)}))
        if filled.way != "stdio" or filled.shared:  # a shared server belongs to no workspace
            return filled
        begins = workspace
        if not filled.confined and not filled.cwd and created.workspace.confines:
            begins = _home()  # a runner such as npx runs what it finds where it begins
        return replace(started_safely(filled), cwd=os.path.join(begins, filled.cwd))

    async def _say(self, name: str, standing: Standing) -> None:
        """Log what a server offers from now on, if it has changed."""
        async with self._saying:
            try:
                event = await self._event(name, standing)
            except ConfigurationError as error:  # its pins cannot be read, so its tools cannot be trusted
                event = await self._event(name, Standing(problem=str(error)))
            before = self._log.state.servers.get(name)
            if before is None or _offer(before) != _offer(event):
                await self._log.append(event)
                self._tools.learn(searching_tools(self._log.state, lambda: self._log.state))
            known = self._sessions.get(name, 0)
            if standing.session:
                self._sessions[name] = standing.session
                if known and known != standing.session and (lost := server_restarted(self._log.state, name)):
                    await self._log.append(*lost)

    async def _event(self, name: str, standing: Standing) -> ToolsChanged:
        """Return the event with what a server offers. Raise `ConfigurationError` if its pins cannot be read."""
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
        """Return whether a server's tools, with those that other servers offer, take too much of the window, or did
        before.
        """
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
            # a tool whose name holds a secret can be neither shown nor pinned
            [tool for tool in standing.listed.tools if masked(tool.name) == tool.name],
            {*self._tools.names, *others, SEARCH, CALL},
            server.include,
            server.exclude,
            state.spec.filter_tools_regex,
            standing.listed.resources,
            {remote: tool for tool, (other, remote) in names.items() if other == name},
        )

    async def _pinned(self, name: str, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        """Return the tools, and mark those that differ from when they were first seen."""
        if self._pins is None:
            return tools
        anew = self._anew[name] = await self._pins.changed(name, self._log.state.spec.mcp_servers[name], tools)
        return tuple(replace(tool, changed=True) if tool.remote in anew else tool for tool in tools)


def _offer(event: ToolsChanged) -> tuple[object, ...]:
    """Return the members of an event that are compared to find a change."""
    return (event.tools, event.problem, event.prompts, event.deferred)


def _told(name: str, before: ToolsChanged | None, tools: Sequence[ToolDefinition], problem: str) -> str:
    """Return what the model is told of a change; "" for the first tools, which it finds by itself."""
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
    """Return the standing of a lost connection after at most `PATIENCE` seconds to come back."""
    with anyio.move_on_after(PATIENCE):
        async for standing in connection.changes():
            if not standing.problem:
                break
    return connection.standing


def _home() -> str:
    return os.path.expanduser("~")
