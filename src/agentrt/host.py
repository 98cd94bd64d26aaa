"""`Host`: keeps one conversation in memory while it is used, and lets it sleep when it is not."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec.structs import replace

from .actors.group import ConversationGroup
from .errors import ActorError, ConfigurationError, LogFailed
from .state import State

Opened = Callable[[], Awaitable[ConversationGroup]]
Released = Callable[[State], Awaitable[None]]


class Host:
    """One conversation's place in a process.

    Awake, it has a group of actors in a task of its own. Asleep, it is a stub: its last state without what was said,
    and the way to open it again.
    """

    __slots__ = (
        "_closed",
        "_group",
        "_left",
        "_lock",
        "_open",
        "_problem",
        "_release",
        "_rest",
        "_stub",
        "_tasks",
        "_used",
        "_users",
        "_woken",
    )

    def __init__(self, tasks: TaskGroup, open: Opened, release: Released) -> None:
        self._tasks, self._open, self._release = tasks, open, release
        self._group: ConversationGroup | None = None
        self._stub: State | None = None
        self._lock: anyio.Lock | None = None
        self._rest: anyio.Event | None = None
        self._left: anyio.Event | None = None
        self._woken: anyio.Event | None = None
        self._problem: BaseException | None = None
        self._users, self._used, self._closed = 0, 0.0, False

    @property
    def closed(self) -> bool:
        """Whether it was taken out of memory for good."""
        return self._closed

    @property
    def group(self) -> ConversationGroup | None:
        """The conversation's actors, while it is awake."""
        return self._group

    @property
    def state(self) -> State:
        """The state after the last event; while it sleeps without what was said and how it is configured."""
        if self._group is not None:
            return self._group.feed.state
        if self._stub is None:
            raise ConfigurationError("a conversation must be entered first: use 'async with'")
        return self._stub

    @asynccontextmanager
    async def use(self) -> AsyncIterator[ConversationGroup]:
        """The conversation, awake until the body has ended. Raises what opening it does."""
        self._users += 1
        try:
            yield self._group or await self.wake()
        finally:
            self._users -= 1
            self._used = time.monotonic()

    async def wake(self, open: Opened | None = None) -> ConversationGroup:
        """Bring the conversation into memory, if it is not there. Raises what opening it does."""
        self._lock = self._lock or anyio.Lock()
        async with self._lock:
            if self._group is None:
                group = await (open or self._open)()
                await self._tasks.start(self._live, group)
                self._used = time.monotonic()
                self._tell_woken()
            assert self._group is not None
            return self._group

    async def woken(self) -> None:
        """Return when the conversation is awake, or closed."""
        if self._group is None and not self._closed:
            self._woken = self._woken or anyio.Event()
            await self._woken.wait()

    async def left(self, group: ConversationGroup) -> None:
        """Return when the conversation is no more awake with this group."""
        if self._group is group and self._left is not None:
            await self._left.wait()

    def _tell_woken(self) -> None:
        if self._woken is not None:
            self._woken.set()
            self._woken = None

    async def rest(self, idle: float) -> bool:
        """Let the conversation sleep if it was not used for `idle` seconds; whether it sleeps."""
        group = self._group
        if group is None or self._users or time.monotonic() - self._used < idle:
            return group is None
        self._lock = self._lock or anyio.Lock()
        async with self._lock:
            try:
                if not await group.may_rest() or self._users:
                    return False
                await group.say_asleep()
            except (ActorError, LogFailed):
                pass  # it has failed: opening it again says why
            await self._leave()
        self._lock = None
        return True

    async def close(self) -> None:
        """Take the conversation out of memory, interrupted when it runs. Raises what failed in it."""
        with anyio.CancelScope(shield=True):
            if self._group is not None:
                await self._leave()
        self._closed = True
        self._tell_woken()
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    async def _leave(self) -> None:
        rest, left = self._rest, self._left
        assert rest is not None
        assert left is not None
        rest.set()
        await left.wait()
        self._rest = self._left = None

    async def _live(self, group: ConversationGroup, *, task_status: TaskStatus[None]) -> None:
        """The task of an awake conversation."""
        rest, left, begun = anyio.Event(), anyio.Event(), False
        self._rest, self._left = rest, left
        try:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(lambda: self._release(group.feed.state))
                await stack.enter_async_context(group)
                await group.begin()
                begun, self._group = True, group
                task_status.started()
                await rest.wait()
        except (Exception, BaseExceptionGroup) as problem:
            if not begun:
                raise
            self._problem = problem
        finally:
            if begun:
                self._group, self._stub = None, _stub(group.feed.state)
            left.set()


def _stub(state: State) -> State:
    """What is kept of a state in sleep."""
    ledger = replace(state.ledger, message_ids=frozenset())
    return State(seq=state.seq, epoch=state.epoch, status=state.status, error=state.error, ledger=ledger)
