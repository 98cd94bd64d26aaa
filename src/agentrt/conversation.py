"""`Conversation`: a person's end of an agent at work."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Generator, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from .actors.feed import Feed
from .actors.group import ConversationGroup
from .deltas import Delta
from .errors import ConfigurationError, CursorExpired
from .events import (
    ActionEvent,
    BudgetGranted,
    ConfirmationGiven,
    Cursor,
    Event,
    ExecutionStatus,
    HeadMoved,
    MessageEvent,
    ObservationEvent,
    PauseEvent,
    RunRequested,
    UserRejectObservation,
)
from .host import Host
from .ids import new_id
from .protocols import ModelClient
from .runtime import Runtime
from .specs import Agent, Content
from .specs.content import text
from .specs.tool import FINISH
from .state import Pending, State
from .tools import ToolType

INTERRUPT_SECONDS = 0.1
"""How long an interrupt waits for what it cut; what takes longer ends on its own."""


T = TypeVar("T", bound=msgspec.Struct)


def at_rest(state: State) -> bool:
    """Whether nothing runs, and nothing will without a person."""
    return state.status is not ExecutionStatus.RUNNING and not state.in_flight


class Conversation:
    """A conversation with an agent; an async context manager.

    `Conversation(agent, workspace)` begins a new one, `Conversation(id=...)` reopens one from its log alone.
    Without a `runtime` it has its own, with the conversations in `store` (default: `~/.agentrt`). `tools` are
    implementations that the built-in ones do not cover. Entering it raises a `ConfigurationError` or `LogError` that
    says what to do; leaving it interrupts what runs and keeps everything in the log.
    """

    __slots__ = ("_agent", "_entered", "_id", "_own_runtime", "_runtime", "_tools", "_workspace")

    def __init__(
        self,
        agent: Agent | None = None,
        workspace: Path | str = ".",
        *,
        id: str | None = None,
        tools: Sequence[ToolType] = (),
        runtime: Runtime | None = None,
        store: Path | str | None = None,
        client: ModelClient | None = None,
    ) -> None:
        if agent is None and id is None:
            raise ConfigurationError("give an agent to begin a conversation, or the id of one to reopen")
        if runtime is not None and (store is not None or client is not None):
            raise ConfigurationError("store and client belong to the runtime: give them to Runtime(...)")
        self._agent, self._workspace, self._tools = agent, workspace, tools
        self._id = id
        self._own_runtime = Runtime(store, client=client) if runtime is None else None
        self._runtime: Runtime = runtime or self._own_runtime  # type: ignore[assignment]
        self._entered: Host | None = None

    async def __aenter__(self) -> Conversation:
        if self._own_runtime is not None:
            await self._own_runtime.__aenter__()
        try:
            self._entered = self._runtime.host(self._open, self._release)
            await self._entered.wake(self._open if self._agent is None else self._create)
            self._agent = None
        except BaseException:
            await self.__aexit__(*sys.exc_info())
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._entered is not None:
                await self._runtime.unhost(self._entered)
        finally:
            if self._own_runtime is not None:
                await self._own_runtime.__aexit__(kind, error, trace)

    async def _create(self) -> ConversationGroup:
        assert self._agent is not None
        self._id, group = await self._runtime.create(self._agent, self._workspace, self._id, self._tools)
        return group

    async def _open(self) -> ConversationGroup:
        return await self._runtime.open(self.id, self._tools)

    async def _release(self, state: State) -> None:
        await self._runtime.release(self.id, state)

    @property
    def id(self) -> str:
        """The name under which it can be reopened; there once it was entered, or when it was given."""
        if self._id is None:
            raise ConfigurationError("a conversation has its id once it was entered: use 'async with'")
        return self._id

    @property
    def state(self) -> State:
        """The state after the last event; immutable. While it sleeps, without what was said and its configuration."""
        return self._host.state

    @property
    def cursor(self) -> Cursor:
        """The place after the last event."""
        return Cursor(self.state.epoch, self.state.seq)

    @property
    def pending_confirmation(self) -> tuple[Pending, ...]:
        """The actions that wait for a person's word."""
        return _waiting(self.state)

    async def send_message(self, message: str | Iterable[Content], *, id: str | None = None) -> Cursor:
        """Say something to the agent; it sees it before its next model call. The same `id` twice counts once."""
        content = text(message) if isinstance(message, str) else tuple(message)
        event = MessageEvent(id=id or new_id(), source="user", content=content)
        return await self._append(event)

    def run(self, after: Cursor | int | None = None) -> Run:
        """Let the agent work: iterate over the events, or await it for the state at its end.

        The events are those from now on, or those after a cursor. It begins with the first iteration and ends when
        nothing is due. Leaving the iteration, or being slow, does not affect the run. Raises `UnknownModel` or
        `MissingKey` before anything is logged, `LogFailed` when the log fails.
        """
        return Run(self._host, self._runtime.client, after)

    async def pause(self) -> Cursor:
        """Begin nothing new; what runs may end. Effective when this returns."""
        return await self._append(PauseEvent())

    async def interrupt(self, reason: str = "") -> Cursor:
        """Cut what runs. The intent is durable when this returns; what was cut has its result in the log soon after."""
        async with self._host.use() as group:
            await group.interrupt(reason, INTERRUPT_SECONDS)
            return self.cursor

    async def confirm(self, *action_ids: str) -> Cursor:
        """Approve actions that wait; all of them when none is named."""
        async with self._host.use() as group:
            ids = action_ids or tuple(p.action.id for p in _waiting(group.feed.state))
            return await group.log.append(ConfirmationGiven(action_ids=ids)) if ids else self.cursor

    async def reject(self, reason: str = "Rejected by the user.", *action_ids: str) -> Cursor:
        """Refuse actions that wait, all of them when none is named; the agent sees the reason."""
        async with self._host.use() as group:
            waiting = [p.action for p in _waiting(group.feed.state)]
            refused = [_rejection(action, reason) for action in waiting if not action_ids or action.id in action_ids]
            return await group.log.append(*refused)

    async def grant(self, amount: float) -> Cursor:
        """Allow it to spend so many USD more than `Limits.max_cost` says. Raises `ConfigurationError` for no amount."""
        if not 0 <= amount < float("inf"):
            raise ConfigurationError(f"cannot grant {amount} USD: give a number that is not negative")
        return await self._append(BudgetGranted(amount=amount))

    async def output(self, kind: type[T]) -> T | None:
        """What the agent gave to `finish` last, for an agent with an `output`; None before that.

        Raises `msgspec.ValidationError` when it is not of this kind.
        """
        async with self._host.use() as group:
            view = group.feed.state.branch.view
            last = next((s for s in reversed(view) if s.tool_name == FINISH and s.type == "ObservationEvent"), None)
            if last is None:
                return None
            (event,) = await group.log.load([last])
        assert isinstance(event, ObservationEvent)
        found = msgspec.json.decode(event.details, type=dict[str, msgspec.Raw] | None)
        return msgspec.json.decode(found["output"], type=kind) if found else None

    async def rewind(self, to: int) -> Cursor:
        """Go back to how it was after event `to`; nothing is erased. Raises `EventRefused` while it runs."""
        return await self._append(HeadMoved(to=to))

    async def rest(self, idle: float = 0.0) -> bool:
        """Let it leave memory now, unless something runs or it was used in the last `idle` seconds; whether it did.

        The runtime does so by itself. It comes back with the next message.
        """
        return await self._host.rest(idle)

    async def fork(self, at: Cursor | int | None = None, *, id: str | None = None) -> Conversation:
        """A new conversation, not yet entered, that shares the events up to `at` (all, when not given) and goes on by
        itself, in the same workspace and runtime. What is open there is cancelled in it.

        Raises `CursorExpired`, `ConversationExists`, or `EventRefused` where the conversation has not begun.
        """
        async with self._host.use() as group:
            upto = group.feed.state.seq if at is None else self._seq(at)
            await group.log.sync()
            name = await self._runtime.fork(self.id, upto, id)
        return Conversation(id=name, tools=self._tools, runtime=self._runtime)

    def events(self, after: Cursor | int = 0) -> AsyncIterator[Event]:
        """The events after a cursor, up to the newest one now; they are read while it sleeps, too.

        Raises `CursorExpired` for one of an earlier epoch.
        """
        group, upto, seq = self._host.group, self.state.seq, self._seq(after)
        if group is None:
            return self._runtime.store.read(self.id, seq)
        return group.feed.events(seq, lambda state: state.seq >= upto)

    async def stream(self, after: Cursor | int = 0) -> AsyncIterator[Event | Delta]:
        """The events after a cursor, then those to come as they come, with deltas in between; it ends with the
        conversation. Raises `CursorExpired` for a cursor of an earlier epoch.
        """
        host, seq = self._host, self._seq(after)
        while True:
            if (group := host.group) is not None:
                async for item in group.feed.stream(seq):
                    seq = seq if isinstance(item, Delta) else item.seq
                    yield item
                await host.settled()
            elif seq < host.state.seq:
                async for event in self._runtime.store.read(self.id, seq):
                    seq = event.seq
                    yield event
            elif host.closed:
                return
            else:
                await host.woken()

    async def _append(self, *events: Event) -> Cursor:
        async with self._host.use() as group:
            return await group.log.append(*events)

    def _seq(self, after: Cursor | int) -> int:
        return _seq(after, self.state)

    @property
    def _host(self) -> Host:
        if self._entered is None:
            raise ConfigurationError("a conversation must be entered first: use 'async with'")
        return self._entered


class Run:
    """A run under way or about to begin; see `Conversation.run`."""

    def __init__(self, host: Host, client: ModelClient, after: Cursor | int | None) -> None:
        self._host, self._client, self._after = host, client, after

    async def __aiter__(self) -> AsyncIterator[Event]:
        feed, after = await self._begin()
        async for event in feed.events(after, at_rest):
            yield event

    async def stream(self) -> AsyncIterator[Event | Delta]:
        """The run's events, with deltas in between."""
        feed, after = await self._begin()
        async for item in feed.stream(after, at_rest):
            yield item

    def __await__(self) -> Generator[Any, None, State]:
        return self._to_the_end().__await__()

    async def _to_the_end(self) -> State:
        feed, _ = await self._begin()
        return await feed.wait_for(at_rest)

    async def _begin(self) -> tuple[Feed, int]:
        async with self._host.use() as group:
            state = group.feed.state
            await self._client.prepare(state.spec.llm)
            after = group.feed.state.seq if self._after is None else _seq(self._after, state)
            await group.log.append(RunRequested())
            return group.feed, after


def _seq(after: Cursor | int, state: State) -> int:
    if isinstance(after, Cursor):
        if after.seq and after.epoch != state.epoch:
            raise CursorExpired(f"the cursor is of epoch {after.epoch}, the log in epoch {state.epoch}")
        after = after.seq
    if after > state.seq:
        raise CursorExpired(f"the cursor is after event {after}, the log ends with {state.seq}")
    return after


def _waiting(state: State) -> tuple[Pending, ...]:
    if state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
        return ()
    return tuple(p for p in state.branch.pending if p.command is None and not p.approved)


def _rejection(action: ActionEvent, reason: str) -> UserRejectObservation:
    return UserRejectObservation(
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        rejection_reason=reason,
        caused_by=action.id,
    )
