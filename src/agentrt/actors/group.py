"""`ConversationGroup`: the supervised task group of one conversation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

import anyio
import msgspec

from ..decisions import recovery
from ..errors import ActorCrashed
from ..events import Event, ExecutionStatus
from ..protocols import Journal, ModelClient, SecurityAnalyzer
from ..specs import LocalWorkspace
from ..state import State
from ..tools.definition import Tools
from .agent import AgentActor
from .condenser import CondenserActor
from .core import RestartPolicy, Supervisor
from .dispatcher import Dispatcher, Performer
from .event_log import EventLogActor, Log
from .feed import Feed
from .security import SecurityActor
from .tool import ToolActor

STOP_SECONDS = 5.0
"""How long leaving a group waits for what it cut to end."""


class Parts(msgspec.Struct, frozen=True):
    """The implementations that a conversation's actors use."""

    client: ModelClient
    tools: Tools
    analyzers: dict[str, Callable[[], SecurityAnalyzer]]
    restarts: RestartPolicy = RestartPolicy()


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
        if events := self._first or recovery(self.feed.state):
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
