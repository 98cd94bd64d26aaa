"""`RemoteEnd`: the client's end of a conversation that runs on a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import assert_never
from urllib.parse import quote

import anyio
import msgspec

from ..actors.feed import Until, never
from ..codec import Line
from ..context.titles import UNNAMED, Naming
from ..controls import (
    Answer,
    AnyControl,
    AskAgent,
    Fork,
    Forked,
    GenerateTitle,
    Reply,
    StartRun,
    UpdateSecrets,
    tag_of,
)
from ..deltas import Delta
from ..errors import ConfigurationError, ConversationExists, OutcomeUnknown, ServerUnreachable
from ..events import Cursor, Event
from ..ids import new_id
from ..mcp.asking import ConnectServer, FinishLogin, ListServers, LogIn, LogOut, ServerAnswer, ServerQuestion
from ..mcp.status import LoginAddress, ServerList, ServerStatus
from ..secrets import AnySecret
from ..specs import Agent, RemoteWorkspace
from ..state import Seen, State
from .files import RemoteFiles
from .following import Following
from .mirror import Mirror
from .place import RemotePlace
from .records import RemoteRecords
from .sending import ONCE, TRACES, named, plain_secrets, seconds_of
from .transport import Transport, path_of

ENTER_SECONDS = 5.0
"""Seconds for which a server that does not answer is tried at the beginning."""

TRIES = 2
"""Number of connections that may be lost at the beginning before it is given up."""

LEFT = "the conversation was left: enter it again to go on"

ELSEWHERE = "the lines of its log are on the server: use events() or stream()"

BEHIND_SECONDS = 2.0
"""Seconds that events may lag behind the answer to a control before another socket is tried."""


class _Place(msgspec.Struct, frozen=True):
    """The part of a conversation's description that is read."""

    cursor: Cursor


class _Created(msgspec.Struct, frozen=True, omit_defaults=True):
    """The request that begins a conversation."""

    agent: Agent
    id: str
    workspace: str | None = None
    secrets: dict[str, str] = {}
    title: str = ""
    tags: dict[str, str] = {}


class RemoteEnd:
    """A conversation on a server: controls go over REST, events come over a socket, and its state is their fold.

    The effect of a call is visible here when the call returns. Leaving the conversation lets it run on.
    """

    def __init__(
        self,
        place: RemoteWorkspace,
        agent: Agent | None = None,
        name: str | None = None,
        secrets: Mapping[str, AnySecret] = {},
        naming: Naming = UNNAMED,
        patience: float = ENTER_SECONDS,
    ) -> None:
        """`patience` is for how many seconds a server that does not answer is tried at the beginning."""
        self._naming, self._patience = naming, patience
        self._place, self._agent, self._name = place, agent, name
        self._secrets = plain_secrets(secrets)
        self._mirror: Mirror | None = None
        self._stack = AsyncExitStack()
        self._left = False

    @property
    def id(self) -> str | None:
        """Its name on the server; None before it has one."""
        return self._name

    @property
    def state(self) -> State:
        """The state after the last received event."""
        return self._here.feed.state

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        """Nothing: the server knows its secrets."""
        return ()

    async def enter(self) -> None:
        """Begin or find the conversation, and receive all its events. Raises the server's errors, or
        `ServerUnreachable`.
        """
        async with AsyncExitStack() as stack:
            self._transport = await stack.enter_async_context(Transport(self._place))
            if self._agent is not None:
                await self._create(self._agent)
                self._agent = None
            else:
                await self._cursor(wait=self._patience)
            await self._follow(stack)
            self._left = False
            if self._secrets:
                await self.do(UpdateSecrets(self._secrets))
                self._secrets = {}
            self._stack = stack.pop_all()

    async def close(self) -> None:
        """Stop following; a run continues."""
        self._left = True
        await self._stack.aclose()

    async def do(self, control: AnyControl, by: str | None = None) -> Reply:
        """Let the server carry out a control; its effect is visible here when this returns."""
        if by is not None:
            raise ConfigurationError("leave `by` out: the server knows the owner of the key")
        known, named_control = self._here.cursor, named(control, self.state)
        if named_control is None:
            return known
        try:
            answer = await self._post(named_control)
        except OutcomeUnknown:
            if await self._done(named_control, known.seq):
                return self._here.cursor
            answer = await self._post(named_control)
        match named_control:
            case AskAgent() | GenerateTitle():
                await self._seen(await self._cursor())
                return msgspec.json.decode(answer, type=Answer)
            case Fork():
                return msgspec.json.decode(answer, type=Forked)
            case _:
                cursor = msgspec.json.decode(answer, type=Cursor)
                await self._seen(cursor)
                return cursor

    async def set_secrets(self, secrets: Mapping[str, AnySecret | None], by: str | None = None) -> Cursor:
        """Add or replace secrets, or remove them with None. Raises `ConfigurationError` for secrets of this process
        only.
        """
        reply = await self.do(UpdateSecrets(plain_secrets(secrets)), by)
        assert isinstance(reply, Cursor)
        return reply

    async def begin(self, after: int | None, by: str | None = None) -> int:
        """Start a run, and return the seq after which its events come."""
        seq = self.state.seq if after is None else after
        await self.do(StartRun(), by)
        return seq

    def events(self, after: int) -> AsyncIterator[Event]:
        """Return the events after a seq, up to the current newest one."""
        upto = self.state.seq
        return self._here.feed.events(after, lambda state: state.seq >= upto)

    async def page(self, after: int, limit: int) -> Sequence[Event]:
        """Return at most `limit` events after a seq, all at once."""
        return await self._here.feed.page(after, min(after + limit, self.state.seq))

    async def page_json(self, after: int, limit: int) -> Sequence[bytes]:
        """Refuse: the log is on the server."""
        raise ConfigurationError(ELSEWHERE)

    def lines(self, after: int) -> AsyncIterator[Line | Delta]:
        """Refuse: the log is on the server."""
        raise ConfigurationError(ELSEWHERE)

    async def stream(self, after: int, until: Until = never, *, deltas: bool = True) -> AsyncIterator[Event | Delta]:
        """Return the events after a seq, with deltas in between, as they come, until `until` holds or this is left."""
        feed = self._here.feed
        while True:
            async for item in feed.stream(after, until, deltas=deltas):
                after = after if isinstance(item, Delta) else item.seq
                yield item
            if await self._whole():
                return

    async def wait_for(self, until: Until) -> State:
        """Return the first state for which `until` holds, or the last one."""
        while True:
            state = await self._here.feed.wait_for(until)
            if await self._whole():
                return state

    async def newest(self, holds: Callable[[Seen], bool]) -> Event | None:
        """Return the event of the last place in the view for which `holds` is true."""
        found = next(filter(holds, reversed(self.state.branch.view)), None)
        return None if found is None else (await self._here.feed.load([found]))[0]

    async def fork(self, wanted: Fork, by: str | None = None) -> RemoteEnd:
        """Return a conversation that shares the events up to a place, not yet entered."""
        reply = await self.do(wanted, by)
        assert isinstance(reply, Forked)
        return RemoteEnd(self._place, name=reply.id)

    async def working_dir(self) -> str:
        """Return the path of its workspace on the server."""
        created = self._here.feed.state.created
        assert created is not None
        return created.workspace.path

    def place(self, by: str | None = None) -> RemotePlace:
        """Return the place of its workspace; the server knows on whose behalf."""
        _ = self._here
        return RemotePlace(self._transport, self._entered)

    async def files(self) -> RemoteFiles:
        """The files of its workspace."""
        _ = self._here
        return RemoteFiles(self._transport, self._entered)

    async def ask_servers(self, question: ServerQuestion) -> ServerAnswer:
        """Return the answer to a question about its MCP servers."""
        _ = self._here
        return await ask_servers(self._transport, self._entered, question)

    async def rest(self, idle: float) -> bool:
        """Do nothing: the server decides when it leaves memory."""
        return False

    @property
    def _here(self) -> Mirror:
        if self._mirror is None:
            raise ConfigurationError("a conversation must be entered first: use 'async with'")
        return self._mirror

    @property
    def _entered(self) -> str:
        """Return its name, until it is left. Raises `ConfigurationError`."""
        if self._left or self._name is None:
            raise ConfigurationError(LEFT)
        return self._name

    @property
    def _path(self) -> str:
        assert self._name is not None
        return path_of(self._name)

    async def _create(self, agent: Agent) -> None:
        given, self._name = self._name, self._name or new_id()
        wanted = _Created(
            agent,
            self._name,
            self._place.path,
            {name: value for name, value in self._secrets.items() if value is not None},
            self._naming.title,
            self._naming.tags,
        )
        with suppress(*(() if given else (ConversationExists,))):  # nobody else has its name: it was heard before a cut
            await self._ask("POST", "/conversations", msgspec.json.encode(wanted), repeatable=not given)
        self._secrets = {}

    async def _follow(self, stack: AsyncExitStack) -> None:
        assert self._name is not None
        mirror = Mirror(RemoteRecords(self._transport, self._name))
        self._following = Following(self._transport, self._name, mirror)
        tasks = await anyio.create_task_group().__aenter__()

        async def end() -> None:
            mirror.feed.close()
            tasks.cancel_scope.cancel()
            await tasks.__aexit__(None, None, None)

        stack.push_async_callback(end)
        tasks.start_soon(self._following.run)
        patience, live = TRIES * self._place.timeout, False
        while not live:
            seq = mirror.feed.state.seq
            with anyio.move_on_after(patience):
                await self._following.live()
                live = True
            if not live and mirror.feed.state.seq == seq:
                raise ServerUnreachable(self._place.url, f"no events came for {patience:g} s")
        if mirror.feed.failed:
            await mirror.feed.wait_for(lambda state: False)
        self._mirror = mirror

    async def _ask(
        self, method: str, path: str, body: bytes | None = None, *, repeatable: bool = True, wait: float | None = None
    ) -> bytes:
        assert self._name is not None
        return await self._transport.ask(method, path, body, name=self._name, repeatable=repeatable, wait=wait)

    async def _post(self, control: AnyControl) -> bytes:
        return await self._transport.ask(
            "POST",
            f"{self._path}/{tag_of(control)}",
            msgspec.json.encode(control),
            name=self._entered,
            repeatable=not isinstance(control, ONCE),
            seconds=seconds_of(control),
        )

    async def _done(self, control: AnyControl, before: int) -> bool:
        """Return whether a control was carried out although its answer was lost. Raises `OutcomeUnknown` if that is
        unknown.
        """
        if (trace := TRACES.get(type(control))) is None:
            raise OutcomeUnknown(tag_of(control))
        await self._seen(await self._cursor())
        return any([isinstance(event, trace) async for event in self.events(before)])

    async def _cursor(self, wait: float | None = None) -> Cursor:
        """Return the conversation's cursor on the server."""
        return msgspec.json.decode(await self._ask("GET", self._path, wait=wait), type=_Place).cursor

    async def _seen(self, cursor: Cursor) -> None:
        """Return when the events up to a cursor are here."""
        feed = self._here.feed
        while feed.state.seq < cursor.seq and not self._left:
            with anyio.move_on_after(BEHIND_SECONDS) as waiting:
                await feed.wait_for(lambda state: state.seq >= cursor.seq)
            if waiting.cancelled_caught:
                self._following.renew()

    async def _whole(self) -> bool:
        """Return whether all events of the last received batch are here."""
        if self._left:
            return True
        cursor = await self._cursor()
        if cursor.seq <= self.state.seq:
            return True
        await self._seen(cursor)
        return False


async def ask_servers(transport: Transport, conversation: str, question: ServerQuestion) -> ServerAnswer:
    """Return the answer to a question about the MCP servers of a conversation. Raises the errors of `Transport.ask`."""
    base = f"{path_of(conversation)}/servers"

    async def post(name: str, what: str, body: bytes = b"{}") -> bytes:
        return await transport.ask("POST", f"{base}/{quote(name, safe='')}/{what}", body, name=conversation)

    match question:
        case ListServers():
            return msgspec.json.decode(await transport.ask("GET", base, name=conversation), type=ServerList)
        case ConnectServer(name):
            return msgspec.json.decode(await post(name, "connect"), type=ServerStatus)
        case LogIn(name):
            return msgspec.json.decode(await post(name, "login"), type=LoginAddress)
        case FinishLogin(name, address):
            body = msgspec.json.encode({"address": address})
            return msgspec.json.decode(await post(name, "finish_login", body), type=ServerStatus)
        case LogOut(name):
            return msgspec.json.decode(await post(name, "logout"), type=ServerStatus)
        case _:
            assert_never(question)
