"""`Consolidations`: conversations in the background that note what later conversations should know of ended ones."""

from __future__ import annotations

import logging
from types import TracebackType

import anyio
from anyio.abc import TaskGroup

from ..actors.group import ConversationGroup
from ..context.consolidating import BELOW, consolidation_of, keeper_of, task_of
from ..context.views import viewed
from ..errors import AgentrtError, ConversationMissing
from ..events import ExecutionStatus, MessageEvent, RunRequested
from ..listing import Filter
from ..secrets import SecretRegistry
from ..specs.content import text
from ..state import State
from ..storing import Storage
from .children import Beginning

_log = logging.getLogger(__name__)


AT_ONCE = 4
"""Maximum number of consolidations at the same time."""

_AGAIN = (ExecutionStatus.IDLE, ExecutionStatus.PAUSED, ExecutionStatus.RUNNING)
"""The statuses of a consolidation that was cut before its end."""


class Consolidations:
    """Begins a consolidation when a finished conversation leaves memory whose agent wants it.

    Leaving this waits for consolidations at work, but cancels them after an error or if `stopping` is set. Once that is
    set none begins; it begins when the conversation leaves memory the next time.

    A consolidation that fails or waits for a person is a conversation like any other: it is listed below the one that
    it consolidates, and can be continued.
    """

    def __init__(self, source: Beginning, store: Storage) -> None:
        self._source, self._store = source, store
        self._tasks: TaskGroup | None = None
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self._deleted = set[str]()
        self.stopping = False

    async def __aenter__(self) -> Consolidations:
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None
        if kind is not None or self.stopping:
            tasks.cancel_scope.cancel()
        await tasks.__aexit__(None, None, None)

    def begin(self, state: State, secrets: SecretRegistry | None = None) -> None:
        """Consolidate a conversation that has left memory in this state, with its secrets, if that is due."""
        name = consolidation_of(state)
        if self._tasks is None or self.stopping or name is None or state.created is None:
            return
        if state.created.conversation_id not in self._deleted:
            self._tasks.start_soon(self._consolidate, name, state, secrets)

    async def delete(self, conversation_id: str) -> None:
        """Delete a conversation that nobody has open, with those that have consolidated it. Raise `LogError`."""
        self._deleted.add(conversation_id)
        try:
            await self._store.delete(conversation_id)
            for row in await self._store.listing.page(1 << 30, None, Filter(query=f"{conversation_id}{BELOW}")):
                if row.delegated_by == conversation_id:
                    await self._store.delete(row.id)
        finally:
            self._deleted.discard(conversation_id)

    def forget(self, conversation_id: str) -> None:
        """Do not consolidate a conversation any more, because it is about to be deleted."""
        self._deleted.add(conversation_id)

    async def _consolidate(self, name: str, state: State, secrets: SecretRegistry | None) -> None:
        try:
            async with self._limiter:
                await self._run(name, state, secrets)
        except AgentrtError as error:
            _log.warning("the memory of conversation %s was not consolidated: %s", name, error)
        except Exception:  # nobody waits for a consolidation
            _log.exception("the memory of conversation %s was not consolidated", name)

    async def _run(self, name: str, state: State, secrets: SecretRegistry | None) -> None:
        assert state.created is not None
        history = self._store.history(name)
        try:
            there = await history.created()
        except ConversationMissing:
            there = None
        if there is not None:
            ours = (there.delegated_by, there.owner) == (state.created.conversation_id, state.created.owner)
            if not ours or (await history.state()).status not in _AGAIN:
                return  # it was begun when the conversation left memory before, and nothing was said since
        guest = self._source.hosts.join(name)
        try:
            await self._source.client.prepare(state.spec.llm)
            if there is None:
                group = await guest.enter(lambda: self._begun(name, state, secrets), new=True)
            else:
                group = await guest.enter()
            if not group.feed.state.ledger.message_ids:
                await group.log.append(MessageEvent(source="user", content=text(await self._task(state))))
            await group.log.append(RunRequested())
            await group.log.wait_for(lambda below: below.status is not ExecutionStatus.RUNNING)
        finally:
            await guest.leave()

    async def _begun(self, name: str, state: State, secrets: SecretRegistry | None) -> ConversationGroup:
        assert state.created is not None
        place = state.created.workspace
        _, group = await self._source.create(keeper_of(state), place, name, secrets=secrets, above=state)
        return group

    async def _task(self, state: State) -> str:
        """Return the task of a consolidation, which shows what the agent saw of the conversation."""
        assert state.created is not None
        history, view = self._store.history(state.created.conversation_id), list(state.branch.view)
        seqs = {seen.seq for seen in view}
        events = {event.seq: event async for event in history.read(0, state.seq) if event.seq in seqs}
        return task_of(viewed(view, events), state.ledger.counting.window)
