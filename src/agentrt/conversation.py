"""`Conversation`: a person's end of an agent at work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from .actors.group import ConversationGroup
from .errors import ConfigurationError
from .events import (
    ConfirmationGiven,
    Cursor,
    Delta,
    Event,
    ExecutionStatus,
    HeadMoved,
    MessageEvent,
    PauseEvent,
    RunRequested,
    UserRejectObservation,
    new_id,
)
from .protocols import ModelClient
from .runtime import Runtime
from .specs import Agent, Content
from .specs.content import text
from .state import Pending, State
from .tools import ToolType

INTERRUPT_SECONDS = 0.1
"""How long an interrupt waits for what it cut; what takes longer ends on its own."""


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
        self._group: ConversationGroup | None = None

    async def __aenter__(self) -> Conversation:
        async with AsyncExitStack() as stack:
            if self._own_runtime is not None:
                await stack.enter_async_context(self._own_runtime)
            if self._agent is None:
                assert self._id is not None
                group = await self._runtime.open(self._id, self._tools)
            else:
                self._id, group = await self._runtime.create(self._agent, self._workspace, self._id, self._tools)
            stack.push_async_callback(self._runtime.release, self._id)
            self._group = await stack.enter_async_context(group)
            await group.begin()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    @property
    def id(self) -> str:
        """The name under which it can be reopened; there once it was entered, or when it was given."""
        if self._id is None:
            raise ConfigurationError("a conversation has its id once it was entered: use 'async with'")
        return self._id

    @property
    def state(self) -> State:
        """The state after the last event; immutable."""
        return self._live.feed.state

    @property
    def cursor(self) -> Cursor:
        """The place after the last event."""
        return self._live.feed.cursor()

    @property
    def pending_confirmation(self) -> tuple[Pending, ...]:
        """The actions that wait for a person's word."""
        if self.state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
            return ()
        return tuple(p for p in self.state.branch.pending if p.command is None and not p.approved)

    async def send_message(self, message: str | Iterable[Content], *, id: str | None = None) -> Cursor:
        """Say something to the agent; it sees it before its next model call. The same `id` twice counts once."""
        content = text(message) if isinstance(message, str) else tuple(message)
        event = MessageEvent(id=id or new_id(), source="user", content=content)
        return await self._live.log.append(event)

    def run(self, after: Cursor | int | None = None) -> Run:
        """Let the agent work: iterate over the events, or await it for the state at its end.

        The events are those from now on, or those after a cursor. It begins with the first iteration and ends when
        nothing is due. Leaving the iteration, or being slow, does not affect the run. Raises `UnknownModel` or
        `MissingKey` before anything is logged, `LogFailed` when the log fails.
        """
        return Run(self._live, self._runtime.client, after)

    async def pause(self) -> Cursor:
        """Begin nothing new; what runs may end. Effective when this returns."""
        return await self._live.log.append(PauseEvent())

    async def interrupt(self, reason: str = "") -> Cursor:
        """Cut what runs. The intent is durable when this returns; what was cut has its result in the log soon after."""
        await self._live.interrupt(reason, INTERRUPT_SECONDS)
        return self.cursor

    async def confirm(self, *action_ids: str) -> Cursor:
        """Approve actions that wait; all of them when none is named."""
        ids = action_ids or tuple(p.action.id for p in self.pending_confirmation)
        return await self._live.log.append(ConfirmationGiven(action_ids=ids)) if ids else self.cursor

    async def reject(self, reason: str = "Rejected by the user.", *action_ids: str) -> Cursor:
        """Refuse actions that wait, all of them when none is named; the agent sees the reason."""
        refused = [p.action for p in self.pending_confirmation if not action_ids or p.action.id in action_ids]
        events = [
            UserRejectObservation(
                action_id=action.id,
                tool_name=action.tool_name,
                tool_call_id=action.tool_call_id,
                rejection_reason=reason,
                caused_by=action.id,
            )
            for action in refused
        ]
        return await self._live.log.append(*events)

    async def rewind(self, to: int) -> Cursor:
        """Go back to how it was after event `to`; nothing is erased. Raises `EventRefused` while it runs."""
        return await self._live.log.append(HeadMoved(to=to))

    def events(self, after: Cursor | int = 0) -> AsyncIterator[Event]:
        """The events after a cursor, up to the newest one now."""
        upto = self.state.seq
        return self._live.feed.events(_seq(after), lambda state: state.seq >= upto)

    async def stream(self, after: Cursor | int = 0) -> AsyncIterator[Event | Delta]:
        """The events after a cursor, then those to come as they come, with deltas in between."""
        feed = self._live.feed
        with feed.deltas() as deltas:
            async for item in feed.stream(_seq(after), deltas):
                yield item

    @property
    def _live(self) -> ConversationGroup:
        if self._group is None:
            raise ConfigurationError("a conversation must be entered first: use 'async with'")
        return self._group


class Run:
    """A run under way or about to begin; see `Conversation.run`."""

    def __init__(self, group: ConversationGroup, client: ModelClient, after: Cursor | int | None) -> None:
        self._group, self._client, self._after = group, client, after

    async def __aiter__(self) -> AsyncIterator[Event]:
        after = await self._begin()
        async for event in self._group.feed.events(after, at_rest):
            yield event

    async def stream(self) -> AsyncIterator[Event | Delta]:
        """The run's events, with deltas in between."""
        feed = self._group.feed
        with feed.deltas() as deltas:
            after = await self._begin()
            async for item in feed.stream(after, deltas, at_rest):
                yield item

    def __await__(self) -> Generator[Any, None, State]:
        return self._to_the_end().__await__()

    async def _to_the_end(self) -> State:
        await self._begin()
        return await self._group.feed.wait_for(at_rest)

    async def _begin(self) -> int:
        await self._client.prepare(self._group.feed.state.spec.llm)
        after = self._group.feed.state.seq if self._after is None else _seq(self._after)
        await self._group.log.append(RunRequested())
        return after


def _seq(after: Cursor | int) -> int:
    return after.seq if isinstance(after, Cursor) else after
