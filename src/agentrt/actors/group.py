"""`ConversationGroup`: the supervised task group of one conversation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

import anyio
import msgspec

from ..decisions import asleep, recovery
from ..errors import ActorCrashed
from ..events import DurabilityChanged, Event, ExecutionStatus
from ..protocols import Journal, ModelClient, SecurityAnalyzer
from ..specs import Durability, LocalWorkspace
from ..state import State
from ..tools.definition import Tools
from .agent import AgentActor
from .condenser import CondenserActor
from .core import RestartPolicy, Supervisor
from .dispatcher import Dispatcher, Performer
from .event_log import EventLogActor, Log
from .feed import Feed
from .security import SecurityActor
from .tool import AtWork, ToolActor

STOP_SECONDS = 5.0
"""How long leaving a group waits for what it cut to end."""


class Parts(msgspec.Struct, frozen=True):
    """The implementations that a conversation's actors use."""

    client: ModelClient
    tools: Tools
    analyzers: dict[str, Callable[[], SecurityAnalyzer]]
    restarts: RestartPolicy = RestartPolicy()
    durability: Durability = Durability.COMMIT


class ConversationGroup:
    """An async context manager: the actors live between enter and exit; leaving it interrupts what runs."""

    def __init__(
        self,
        journal: Journal,
        state: State,
        parts: Parts,
        workspace: LocalWorkspace,
        first: tuple[Event, ...] = (),
    ) -> None:
        self.feed = Feed(journal, state)
        self._first = first
        self._journal, self._parts, self._workspace = journal, parts, workspace
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> ConversationGroup:
        async with AsyncExitStack() as stack:
            supervisor = await stack.enter_async_context(Supervisor(self._parts.restarts, self._stopped))
            self._dispatcher = Dispatcher(supervisor, self._performer)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(self._dispatcher.run)
            self._actor = EventLogActor(self._journal, self.feed, self._dispatcher.hand_out, self._dispatcher.cut)
            self.log = Log(self._actor, self.feed, self._journal)
            self._dispatcher.attach(self.log)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cut what runs and stop the actors; what the body raised goes on as it is, in no exception group."""
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(STOP_SECONDS):
                if self.feed.state.status is ExecutionStatus.RUNNING and not self.feed.failed:
                    await self.log.interrupt("the conversation was closed")
                self._dispatcher.cut()
                await self._dispatcher.wait_idle()
                if self.feed.state.durability is not Durability.COMMIT and not self.feed.failed:
                    epoch = self.feed.state.epoch
                    await self.log.append(DurabilityChanged(durability=Durability.COMMIT, epoch=epoch))
        finally:
            self.feed.close()
            await self._stack.aclose()
            self._actor.close()

    async def interrupt(self, reason: str, wait: float) -> None:
        """Log the intent, cut what runs, and wait for its end, `wait` seconds at most. Raises `LogFailed`."""
        await self.log.interrupt(reason)
        with anyio.move_on_after(wait):
            await self._dispatcher.wait_idle()

    async def begin(self) -> None:
        """Append the first batch: that of a new conversation, or what closes what a dead process left open."""
        events, durability = self._first or recovery(self.feed.state), self._parts.durability
        if durability is not Durability.COMMIT:
            epoch = self.feed.state.epoch + (self.feed.state.durability is not Durability.COMMIT)
            events = (*events, DurabilityChanged(durability=durability, epoch=epoch))
        if events:
            await self.log.append(*events)
        if durability is not Durability.COMMIT:
            await self._journal.sync()

    async def may_rest(self) -> bool:
        """Whether nothing would be lost but what can be said: nothing runs, and no tool has something at work."""
        state = self.feed.state
        if state.status is ExecutionStatus.RUNNING or state.in_flight:
            return False
        return not any(await self._dispatcher.ask_tools(AtWork()))

    async def say_asleep(self) -> None:
        """Tell the model what sleep takes away."""
        if events := asleep(self.feed.state):
            await self.log.append(*events)

    def _performer(self, name: str) -> Performer:
        log, parts, workspace = self.log, self._parts, self._workspace
        kind, _, tool = name.partition(":")
        match kind:
            case "agent":
                return Performer(lambda: AgentActor(log, parts.client, parts.tools))
            case "security":
                analyzer = parts.analyzers[self.feed.state.spec.analyzer or ""]
                return Performer(lambda: SecurityActor(log, analyzer(), workspace))
            case "condenser":
                return Performer(lambda: CondenserActor(log))
            case _:
                concurrency = self.feed.state.spec.limits.tool_concurrency
                return Performer(lambda: ToolActor(log, parts.tools, tool, workspace), concurrency)

    def _stopped(self, name: str, crash: ActorCrashed) -> None:
        self._dispatcher.forget(name)
