"""`LocalEnd`: the end of a conversation that runs in this process."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..actors.feed import Fresh, Until, never
from ..actors.group import ConversationGroup
from ..actors.results import result_of
from ..codec import Line
from ..context.titles import UNNAMED, Naming, checked_length
from ..controls import (
    Agree,
    Answer,
    AnyControl,
    AskAgent,
    Configure,
    Fork,
    Forked,
    GenerateTitle,
    GiveInput,
    GiveResult,
    Grant,
    Interrupt,
    LoadPlugin,
    Pause,
    Reply,
    Rewind,
    SendMessage,
    StartRun,
    SwitchLLM,
    UpdateSecrets,
    model_of,
)
from ..decisions.asked import asked, changed, changes_in, signed
from ..deltas import Delta
from ..errors import AgentrtError, ConfigurationError
from ..events import ConversationCreated, Cursor, Event, MessageEvent, RunRequested, TitleChanged
from ..host import NOTHING, Guest, Opening
from ..host.beginning import pinned
from ..ids import new_id
from ..loading import load
from ..mcp.asking import ServerAnswer, ServerQuestion
from ..placing import Place
from ..runtime import Runtime
from ..secrets import AnySecret, SecretRegistry
from ..specs import Agent, BusyPolicy, TextContent, WorkspaceSpec
from ..specs.content import text
from ..state import Seen, State, seq_of
from ..tools import ToolType, distinct, tools_in
from .filling import check_form
from .forking import forked_files
from .plugins import agree, load_plugin
from .project_rules import append_with_rules
from .rewinding import rewind

if TYPE_CHECKING:
    from ..workspaces.asking import Files, PlaceEnd

_log = logging.getLogger(__name__)
_MISSING = "secrets of conversation %s were not kept when it was closed: %s; give them again with update_secrets"
_SHARED = "while the conversation that delegated this one has it open, its {} are those of that one: change them there"

LINES = 256
"""Lines of the log per read."""

INTERRUPT_SECONDS = 0.1
"""Seconds that an interrupt waits for the interrupted work; slower work ends on its own."""


class LocalEnd:
    """A conversation in a runtime of this process, which may be shared.

    All users of the runtime share one open conversation. It sleeps (leaves memory) when idle, and any request wakes it.
    """

    __slots__ = (
        "_agent",
        "_entered",
        "_held",
        "_kept",
        "_name",
        "_naming",
        "_owner",
        "_owns_runtime",
        "_runtime",
        "_secrets",
        "_tools",
        "_workspace",
    )

    def __init__(
        self,
        runtime: Runtime,
        agent: Agent | None,
        workspace: Path | str | WorkspaceSpec,
        name: str | None = None,
        tools: Sequence[ToolType] = (),
        secrets: Mapping[str, AnySecret] = {},
        owner: str | None = None,
        naming: Naming = UNNAMED,
        *,
        owns_runtime: bool = False,
        held: Place | None = None,
    ) -> None:
        self._runtime, self._owns_runtime = runtime, owns_runtime
        self._agent, self._workspace, self._tools = agent, workspace, tools
        self._name, self._secrets, self._owner = name, secrets, owner
        self._naming, self._held = naming, held
        self._kept: SecretRegistry | None = None
        """A fork's secrets that its log does not hold."""
        self._entered: Guest | None = None

    @property
    def id(self) -> str | None:
        """The conversation's id; None before it has one."""
        return self._name

    @property
    def state(self) -> State:
        """The state after the last event; without messages and configuration while the conversation sleeps."""
        return self._guest.state

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        """The names of secrets whose values were not kept when it was closed."""
        secrets = self._entered.secrets if self._entered is not None else None
        return secrets.missing if secrets is not None else ()

    async def enter(self) -> None:
        """Begin the conversation, or open it from its log."""
        if self._owns_runtime:
            await self._runtime.__aenter__()
        try:
            brings = self._tools or self._kept is not None or self._held is not None
            name = self._name or new_id()
            opening = Opening(tuple(self._tools), self._kept, self._held) if brings else NOTHING
            guest = self._entered = self._runtime.hosts.join(name, opening)
            if self._agent is not None:
                await guest.enter(partial(self._create, name), new=True)
            else:
                await guest.enter()
            self._name, self._kept = name, None
            if self._agent is None and self._secrets:
                await self.set_secrets(self._secrets)
            if self.missing_secrets:
                _log.warning(_MISSING, self._name, ", ".join(self.missing_secrets))
            self._agent, self._naming = None, UNNAMED
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Leave the conversation, also after a failed entry. Interrupt it if it runs and is open nowhere else."""
        try:
            if self._entered is not None:
                await self._entered.leave()
        finally:
            if self._owns_runtime:
                await self._runtime.__aexit__(None, None, None)

    async def do(self, control: AnyControl, by: str | None = None) -> Reply:
        """Carry out a control on behalf of `by`. Raises the errors of the matching method of `Conversation`."""
        match control:
            case StartRun():
                await self.begin(None, by)
                return self._cursor
            case UpdateSecrets(secrets=secrets):
                return await self.set_secrets(secrets, by)
            case Fork():
                fork = await self.fork(control, by)
                assert fork._name is not None
                return Forked(fork._name)
            case SwitchLLM(llm=llm):
                await self._runtime.client.prepare(llm)
        async with self._guest.use() as group:
            return await self._do(group, control, by)

    async def _do(self, group: ConversationGroup, control: AnyControl, by: str | None) -> Reply:
        group.stops += isinstance(control, Pause | Interrupt)
        if (asked_too := model_of(control)) is not None:
            self._runtime.hide_keys(group.secrets, asked_too)
        match control:
            case SendMessage(content=content, id=name, busy=busy, run=run):
                said = text(content) if isinstance(content, str) else tuple(content)
                if not any(not isinstance(part, TextContent) or part.text.strip() for part in said):
                    raise ConfigurationError("the message is empty: describe what the agent should do")
                message = MessageEvent(id=name or new_id(), source="user", by=by, content=said)
                heard = message.id in group.feed.state.ledger.message_ids
                attached = await group.attached(message)
                cursor = await group.log.say(message, BusyPolicy(busy) if busy is not None else None, attached)
                # a repeated message: a run may already have picked it up, and may be over
                if run and not (heard and all(seen.id != message.id for seen in group.feed.state.branch.queued)):
                    return await self.do(StartRun(), by)
                return cursor
            case Agree():
                return await agree(self._runtime, group, control, by)
            case Rewind(files=True):
                return await rewind(group, control, by)
            case LoadPlugin():
                return await load_plugin(self._runtime, group, control, by)
            case GiveResult(action_id=action_id, content=content, is_error=is_error):
                given = text(content) if isinstance(content, str) else tuple(content)
                result = await result_of(action_id, given, is_error, group.log, group.secrets, by)
                return await group.log.append(result)
            case Interrupt(reason=reason):
                await group.interrupt(reason, INTERRUPT_SECONDS, by)
                return self._cursor
            case AskAgent(question=question, llm=llm):
                return Answer(await group.calls.ask(question, llm))
            case GenerateTitle(llm=llm, max_length=length, if_untitled=only):
                title = await group.calls.title(checked_length(length), llm)
                if title and not (only and group.log.state.ledger.title):
                    await group.log.append(TitleChanged(title=title, by=by))
                return Answer(title)
        state = group.feed.state
        if isinstance(control, GiveInput) and control.verdict == "accept":
            check_form(state.branch.inputs, control)
        changes, more = changes_in(control), tuple[Event, ...]()
        if self._guest.delegated and (isinstance(control, Grant) or "limits" in (changes or ())):
            raise ConfigurationError(_SHARED.format("limits"))
        if changes is not None:
            agent = changed(state.spec, changes)
            self._runtime.check(agent)
            control = await self._pinned(control, agent, state)
            for llm in agent.models:
                self._runtime.hide_keys(group.secrets, llm)
            if "llm" in changes:
                more = await group.told_anew(agent.llm)
        events = (*asked(state, control, by), *more)
        return await append_with_rules(self._runtime.store.shelf, group, events)

    async def _pinned(self, control: AnyControl, agent: Agent, state: State) -> AnyControl:
        """Return a control that changes hooks with the hooks' programs pinned as they are in the workspace now."""
        if not isinstance(control, Configure) or not control.changes.keys() & {"hooks", "agents"}:
            return control
        assert state.created is not None
        agent = await pinned(agent, state.created.workspace.path)
        now = {"hooks": agent.hooks, "agents": agent.agents}
        return Configure(
            changes={
                key: msgspec.Raw(msgspec.json.encode(now[key])) if key in now else value
                for key, value in control.changes.items()
            }
        )

    async def set_secrets(self, secrets: Mapping[str, AnySecret | None], by: str | None = None) -> Cursor:
        """Add, replace or, with None, remove secrets. Old values stay hidden. Raises `ConfigurationError`."""
        async with self._guest.use() as group:
            if self._guest.delegated:
                raise ConfigurationError(_SHARED.format("secrets"))
            registry = group.secrets
            with registry.undone_when(AgentrtError):
                registry.update({name: secret for name, secret in secrets.items() if secret is not None})
                registry.remove(*(name for name, secret in secrets.items() if secret is None))
                cursor = await group.log.append(self._runtime.changed_secrets(registry, self._known, by))
            self._guest.keep(registry)
            return cursor

    async def begin(self, after: int | None, by: str | None = None) -> int:
        """Start a run, and return the seq after which its events come. Raises `UnknownModel` or `MissingKey`."""
        async with self._guest.use() as group:
            stops = group.stops
            await self._runtime.client.prepare(group.feed.state.spec.llm)  # which may take seconds
            await group.ready()
            after = group.feed.state.seq if after is None else after
            if group.stops == stops:
                await group.log.append(*signed((RunRequested(),), by))
            return after

    async def fork(self, wanted: Fork, by: str | None = None) -> LocalEnd:
        """Return a fork that shares the events up to a place, in the same workspace and runtime, with its secrets."""
        agent, naming = wanted.agent, Naming.checked(wanted.title, wanted.tags)
        tools = self._tools if agent is None else (*self._tools, *distinct(tools_in(agent)))
        async with self._guest.use() as group:
            state = group.feed.state
            upto = state.seq if wanted.place is None else seq_of(wanted.place, state)
            await group.log.sync()
            async with forked_files(group, upto, name := wanted.id or new_id(), wanted.files) as place:
                more = naming.events(by)
                with self._runtime.hosts.reporting(name):
                    await self._runtime.fork(self._known, upto, name, group.secrets, agent, tools, more, place)
            fork = LocalEnd(self._runtime, None, self._workspace, name, tools)
            fork._kept = group.secrets.copy()
        return fork

    def events(self, after: int) -> AsyncIterator[Event]:
        """Return the events after a seq, up to the newest one now, also while the conversation sleeps."""
        group, upto = self._guest.group, self.state.seq
        if group is None:
            return self._runtime.store.history(self._known).read(after)
        return group.feed.events(after, lambda state: state.seq >= upto)

    async def page(self, after: int, limit: int) -> Sequence[Event]:
        """Return at most `limit` events after a seq, all at once."""
        async with self._guest.use() as group:
            return await group.feed.page(after, min(after + limit, group.feed.state.seq))

    async def page_json(self, after: int, limit: int) -> Sequence[bytes]:
        """Do the same as `page`, with the JSON of each event as it is in the log."""
        async with self._guest.use() as group:
            upto = min(after + limit, group.feed.state.seq)
            return await self._runtime.store.history(self._known).load_json(after, upto)

    async def lines(self, after: int) -> AsyncIterator[Line | Delta]:
        """Do the same as `stream`, with the JSON of each event as it is in the log."""
        fresh, read = Fresh(), dict[int, bytes]()
        history, last = self._runtime.store.history(self._known), 0
        async for item in self.stream(after, fresh=fresh):
            if isinstance(item, Delta):
                yield item
                continue
            data = fresh.take(item.seq) or read.pop(item.seq, None)
            if data is None:
                if item.seq > last:  # a history knows only the events that it has found
                    history = self._runtime.store.history(self._known)
                    last = await history.last()
                upto = min(item.seq + LINES - 1, last)
                read = dict(enumerate(await history.load_json(item.seq - 1, upto), item.seq))
                data = read.pop(item.seq)
            yield Line(item.seq, item.id, data)

    async def stream(
        self, after: int, until: Until = never, *, deltas: bool = True, fresh: Fresh | None = None
    ) -> AsyncIterator[Event | Delta]:
        """Yield the events after a seq as they come, with deltas, until `until` holds or the conversation is left."""
        guest = self._guest

        def over(state: State) -> bool:
            return guest.left or until(state)

        while True:
            if (group := guest.group) is not None:
                async for item in group.feed.stream(after, over, deltas=deltas, fresh=fresh):
                    after = after if isinstance(item, Delta) else item.seq
                    yield item
                if over(group.feed.state):
                    return
                await guest.settled()
            elif after < guest.state.seq:
                async for event in self._runtime.store.history(self._known).read(after):
                    after = event.seq
                    yield event
            elif over(guest.state):
                return
            else:
                await guest.woken()

    async def wait_for(self, until: Until) -> State:
        """Return the first state for which `until` holds, or the last state. Raises the error of a failed log."""
        guest = self._guest
        if guest.group is None:
            return guest.state
        return await guest.group.feed.wait_for(lambda state: guest.left or until(state))

    async def newest(self, holds: Callable[[Seen], bool]) -> Event | None:
        """Return the event of the last place in the view for which `holds` is true."""
        async with self._guest.use() as group:
            return await group.log.newest(holds)

    async def ask_servers(self, question: ServerQuestion) -> ServerAnswer:
        """Return the answer to a question about its MCP servers. Raises the errors of `ConversationServers`."""
        async with self._guest.use() as group:
            return await group.ask_servers(question)

    async def working_dir(self) -> str:
        """Return the path of the workspace, also while the conversation sleeps."""
        return (await self._created()).workspace.path

    async def _created(self) -> ConversationCreated:
        """Return the event that says where its workspace is."""
        return self.state.created or await self._runtime.store.history(self._known).created()

    def place(self, by: str | None = None) -> PlaceEnd:
        """Return the place of the workspace, for commands on behalf of the principal `by`."""
        from ..workspaces.commands import Commands, LocalPlaceEnd  # needed by few

        @asynccontextmanager
        async def using() -> AsyncIterator[Commands]:
            async with self._guest.use() as group:
                yield group.commands

        return LocalPlaceEnd(using, by)

    async def files(self) -> Files:
        """Return the files of the workspace. While the conversation sleeps, the log says where they are; those that
        only their place has wake it.
        """
        if self._guest.left:
            raise ConfigurationError("the conversation was left: enter it again to go on")
        created = await self._created()
        if not created.workspace.seen_here:
            from ..workspaces.there import FilesThere

            async with self._guest.use() as used:
                if used.keeper is not None:
                    await used.keeper.begun()
                kept = (await load("agentrt.host.kept")).kept_files(self._runtime.store, created)
                return FilesThere(used.place, kept)
        if (group := self._guest.group) is not None and group.keeper is not None:
            await group.keeper.begun()
        files: Files = (await load("agentrt.host.kept")).files_of(self._runtime.store, created)
        return files

    async def rest(self, idle: float) -> bool:
        """Unload it from memory unless it runs or was used in the last `idle` seconds. Return whether it did."""
        return await self._guest.rest(idle)

    async def _create(self, name: str) -> ConversationGroup:
        assert self._agent is not None
        secrets = self._runtime.secrets(self._secrets)
        _, group = await self._runtime.create(
            self._agent,
            self._workspace,
            name,
            self._tools,
            secrets,
            owner=self._owner,
            more=self._naming.events(),
            held=self._held,
        )
        return group

    @property
    def _known(self) -> str:
        assert self._name is not None
        return self._name

    @property
    def _cursor(self) -> Cursor:
        return Cursor(self.state.epoch, self.state.seq)

    @property
    def _guest(self) -> Guest:
        if self._entered is None:
            raise ConfigurationError("a conversation must be entered first: use 'async with'")
        return self._entered
