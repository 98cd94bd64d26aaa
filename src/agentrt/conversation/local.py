"""`LocalEnd`: the end of a conversation that runs in this process."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from ..actors.feed import Until, never
from ..actors.group import ConversationGroup
from ..controls import (
    AddRule,
    Answer,
    AnyControl,
    AskAgent,
    Confirm,
    Fork,
    Forked,
    GenerateTitle,
    Interrupt,
    Reply,
    SendMessage,
    StartRun,
    SwitchLLM,
    UpdateSecrets,
)
from ..decisions.asked import asked, changed, changes_in, signed
from ..deltas import Delta
from ..errors import ConfigurationError
from ..events import Cursor, Event, MessageEvent, RuleAdded, RunRequested, SecretsChanged, TitleChanged
from ..host import Host
from ..ids import new_id
from ..runtime import Runtime
from ..secrets import AnySecret, SecretRegistry
from ..specs import Agent, BusyPolicy, DockerWorkspace
from ..specs.content import text
from ..state import Seen, State
from ..tools import ToolType

_log = logging.getLogger(__name__)
_MISSING = "secrets of conversation %s were not kept when it was closed: %s; give them again with update_secrets"

INTERRUPT_SECONDS = 0.1
"""How long an interrupt waits for what it cut; what takes longer ends on its own."""


class LocalEnd:
    """A conversation in a runtime of this process: of its own, or one that others share.

    It is opened there, sleeps, and is woken by whoever asks something of it.
    """

    __slots__ = (
        "_agent",
        "_entered",
        "_name",
        "_owner",
        "_owns_runtime",
        "_registry",
        "_runtime",
        "_secrets",
        "_tools",
        "_workspace",
    )

    def __init__(
        self,
        runtime: Runtime,
        agent: Agent | None,
        workspace: Path | str | DockerWorkspace,
        name: str | None = None,
        tools: Sequence[ToolType] = (),
        secrets: Mapping[str, AnySecret] = {},
        owner: str | None = None,
        *,
        owns_runtime: bool = False,
    ) -> None:
        self._runtime, self._owns_runtime = runtime, owns_runtime
        self._agent, self._workspace, self._tools = agent, workspace, tools
        self._name, self._secrets, self._owner = name, secrets, owner
        self._registry: SecretRegistry | None = None
        """Of one that has secrets: what the log does not hold of them outlives its sleep."""
        self._entered: Host | None = None

    @property
    def id(self) -> str | None:
        """Its name; None before it has one."""
        return self._name

    @property
    def state(self) -> State:
        """The state after the last event; while it sleeps without what was said and its configuration."""
        return self._host.state

    @property
    def missing_secrets(self) -> tuple[str, ...]:
        """The secrets whose values were not kept when it was closed."""
        return self._registry.missing if self._registry is not None else ()

    async def enter(self) -> None:
        """Begin it, or open it from its log."""
        if self._owns_runtime:
            await self._runtime.__aenter__()
        try:
            self._entered = self._runtime.host(self._open, self._release)
            await self._entered.wake(self._open if self._agent is None else self._create)
            if self._agent is None and self._secrets:
                await self.set_secrets(self._secrets)
            if self.missing_secrets:
                _log.warning(_MISSING, self._name, ", ".join(self.missing_secrets))
            self._agent = None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Leave it, interrupted when it runs; also one that could not be entered."""
        try:
            if self._entered is not None:
                await self._runtime.unhost(self._entered)
        finally:
            if self._owns_runtime:
                await self._runtime.__aexit__(None, None, None)

    async def do(self, control: AnyControl, by: str | None = None) -> Reply:
        """Carry a control out, on behalf of the principal `by`. Raises what the conversation's method of it does."""
        match control:
            case StartRun():
                await self.begin(None, by)
                return self._cursor
            case UpdateSecrets(secrets=secrets):
                return await self.set_secrets(secrets, by)
            case Fork(at=at, id=name):
                fork = await self.fork(at, name, by)
                assert fork._name is not None
                return Forked(fork._name)
            case SwitchLLM(llm=llm):
                await self._runtime.client.prepare(llm)
        async with self._host.use() as group:
            return await self._do(group, control, by)

    async def _do(self, group: ConversationGroup, control: AnyControl, by: str | None) -> Reply:
        match control:
            case SendMessage(content=content, id=name, busy=busy, run=run):
                said = text(content) if isinstance(content, str) else tuple(content)
                message = MessageEvent(id=name or new_id(), source="user", by=by, content=said)
                heard = message.id in group.feed.state.ledger.message_ids
                cursor = await group.log.say(message, BusyPolicy(busy) if busy is not None else None)
                # the same again: a run that has taken it up has begun already, and may be over
                if run and not (heard and all(seen.id != message.id for seen in group.feed.state.branch.queued)):
                    return await self.do(StartRun(), by)
                return cursor
            case Interrupt(reason=reason):
                await group.interrupt(reason, INTERRUPT_SECONDS, by)
                return self._cursor
            case AskAgent(question=question, llm=llm):
                return Answer(await group.calls.ask(question, llm))
            case GenerateTitle(llm=llm, max_length=length):
                title = await group.calls.title(length, llm)
                await group.log.append(TitleChanged(title=title, by=by))
                return Answer(title)
        state = group.feed.state
        if (changes := changes_in(control)) is not None:
            self._runtime.check(changed(state.spec, changes))
        events = asked(state, control, by)
        if isinstance(control, Confirm | AddRule):
            rules = [e.rule for e in events if isinstance(e, RuleAdded) and e.scope == "project"]
            assert state.created is not None
            await self._runtime.remember(state.created.workspace.path, rules)
        return await group.log.append(*events)

    async def set_secrets(self, secrets: Mapping[str, AnySecret | None], by: str | None = None) -> Cursor:
        """Add, replace or, with None, remove secrets; what was one stays hidden. Raises `ConfigurationError`."""
        async with self._host.use() as group:
            registry = self._registry = group.secrets
            registry.update({name: secret for name, secret in secrets.items() if secret is not None})
            registry.remove(*(name for name, secret in secrets.items() if secret is None))
            saved = self._runtime.saved(registry, self._known)
            return await group.log.append(SecretsChanged(secrets=saved, by=by))

    async def begin(self, after: int | None, by: str | None = None) -> int:
        """Let it run; the seq after which the run's events come. Raises `UnknownModel` or `MissingKey`."""
        async with self._host.use() as group:
            await self._runtime.client.prepare(group.feed.state.spec.llm)
            after = group.feed.state.seq if after is None else after
            await group.log.append(*signed((RunRequested(),), by))
            return after

    async def fork(self, at: int | None, name: str | None, by: str | None = None) -> LocalEnd:
        """One that shares the events up to `at`, in the same workspace and runtime, with the same secrets."""
        async with self._host.use() as group:
            upto = group.feed.state.seq if at is None else at
            await group.log.sync()
            made = await self._runtime.fork(self._known, upto, name, group.secrets)
            fork = LocalEnd(self._runtime, None, self._workspace, made, self._tools)
            fork._registry = group.secrets.copy()
        return fork

    def events(self, after: int) -> AsyncIterator[Event]:
        """The events after a seq, up to the newest one now; they are read while it sleeps, too."""
        group, upto = self._host.group, self.state.seq
        if group is None:
            return self._runtime.store.read(self._known, after)
        return group.feed.events(after, lambda state: state.seq >= upto)

    async def page(self, after: int, limit: int) -> Sequence[Event]:
        """At most `limit` events after a seq, all at once."""
        async with self._host.use() as group:
            return await group.feed.page(after, min(after + limit, group.feed.state.seq))

    async def stream(self, after: int, until: Until = never, *, deltas: bool = True) -> AsyncIterator[Event | Delta]:
        """The events after a seq as they come, with deltas in between; it ends when `until` holds, or it is left."""
        host = self._host
        while True:
            if (group := host.group) is not None:
                async for item in group.feed.stream(after, until, deltas=deltas):
                    after = after if isinstance(item, Delta) else item.seq
                    yield item
                if until(group.feed.state):
                    return
                await host.settled()
            elif after < host.state.seq:
                async for event in self._runtime.store.read(self._known, after):
                    after = event.seq
                    yield event
            elif host.closed or until(host.state):
                return
            else:
                await host.woken()

    async def wait_for(self, until: Until) -> State:
        """The first state for which `until` holds, or the last one. Raises the error that the log failed with."""
        group = self._host.group
        return self.state if group is None else await group.feed.wait_for(until)

    async def newest(self, holds: Callable[[Seen], bool]) -> Event | None:
        """The event of the last place in the view for which `holds`."""
        async with self._host.use() as group:
            return await group.log.newest(holds)

    async def rest(self, idle: float) -> bool:
        """Let it leave memory, unless something runs or it was used in the last `idle` seconds; whether it did."""
        return await self._host.rest(idle)

    async def _create(self) -> ConversationGroup:
        assert self._agent is not None
        secrets = self._runtime.secrets(self._secrets)
        self._name, group = await self._runtime.create(
            self._agent, self._workspace, self._name, self._tools, secrets, owner=self._owner
        )
        return self._keeping(group)

    async def _open(self) -> ConversationGroup:
        return self._keeping(await self._runtime.open(self._known, self._tools, self._registry))

    def _keeping(self, group: ConversationGroup) -> ConversationGroup:
        self._registry = group.secrets if group.secrets.names else None
        return group

    async def _release(self, state: State) -> None:
        await self._runtime.release(self._known, state)

    @property
    def _known(self) -> str:
        assert self._name is not None
        return self._name

    @property
    def _cursor(self) -> Cursor:
        return Cursor(self.state.epoch, self.state.seq)

    @property
    def _host(self) -> Host:
        if self._entered is None:
            raise ConfigurationError("a conversation must be entered first: use 'async with'")
        return self._entered
