"""`Consolidations`: what ended conversations leave for later ones, noted by conversations in the background."""

from __future__ import annotations

import logging
from types import TracebackType

import anyio
from anyio.abc import TaskGroup

from ..actors.group import ConversationGroup
from ..context.consolidating import consolidation_of, keeper_of, task_of
from ..context.views import viewed
from ..errors import AgentrtError, ConversationMissing
from ..events import ExecutionStatus, MessageEvent, RunRequested
from ..specs.content import text
from ..state import State
from ..storing import Storage
from .children import Beginning

_log = logging.getLogger(__name__)


class Consolidations:
    """Begins one when a conversation leaves memory that has finished and whose agent wants it; leaving this waits for
    those that are at work, unless it is left in an error.

    One that fails, or waits for a person, is a conversation as any other: it stands in the list, below the one that it
    consolidates, and may be gone on with.
    """

    def __init__(self, source: Beginning, store: Storage) -> None:
        self._source, self._store = source, store
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Consolidations:
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None
        if kind is not None:
            tasks.cancel_scope.cancel()
        await tasks.__aexit__(None, None, None)

    def begin(self, state: State) -> None:
        """Consolidate a conversation that has left memory in this state, where that is due."""
        if self._tasks is not None and (name := consolidation_of(state)) is not None:
            self._tasks.start_soon(self._consolidate, name, state)

    async def _consolidate(self, name: str, state: State) -> None:
        try:
            await self._run(name, state)
        except AgentrtError as error:
            _log.warning("the memory of conversation %s was not consolidated: %s", name, error)

    async def _run(self, name: str, state: State) -> None:
        try:
            await self._store.history(name).created()
        except ConversationMissing:
            guest = self._source.hosts.join(name)
        else:
            return  # it was begun when the conversation left memory before, and nothing was said since
        try:
            await self._source.client.prepare(state.spec.llm)
            group = await guest.enter(lambda: self._begun(name, state), new=True)
            await group.log.append(MessageEvent(source="user", content=text(await self._task(state))), RunRequested())
            await group.log.wait_for(lambda below: below.status is not ExecutionStatus.RUNNING)
        finally:
            await guest.leave()

    async def _begun(self, name: str, state: State) -> ConversationGroup:
        assert state.created is not None
        _, group = await self._source.create(keeper_of(state), state.created.workspace, name, above=state)
        return group

    async def _task(self, state: State) -> str:
        """What it is asked, which shows what its agent saw of the conversation."""
        assert state.created is not None
        history, view = self._store.history(state.created.conversation_id), list(state.branch.view)
        seqs = {seen.seq for seen in view}
        events = {event.seq: event async for event in history.read(0, state.seq) if event.seq in seqs}
        return task_of(viewed(view, events), state.ledger.counting.window)
