"""`Host`: keeps one conversation in memory while it is used, and lets it sleep when it is not."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec.structs import replace

from .actors.group import ConversationGroup
from .errors import ActorError, ConfigurationError, LogError
from .state import Branch, State

Opened = Callable[[], Awaitable[ConversationGroup]]
Released = Callable[[State], Awaitable[None]]


class _Life:
    """An awake conversation: `end` tells its task to leave, `left` that it has."""

    __slots__ = ("asleep", "end", "left")

    def __init__(self) -> None:
        self.end, self.left = anyio.Event(), anyio.Event()
        self.asleep = False
        """Whether it ends because it goes to sleep."""


class Host:
    """One conversation's place in a process.

    Awake, it has a group of actors in a task of its own. Asleep, it is a stub: its last state without what was said,
    and the way to open it again. Leaving goes on in that task whatever happens to who asked for it, and whoever comes
    meanwhile waits for its end.
    """

    __slots__ = (
        "_closed",
        "_group",
        "_life",
        "_lock",
        "_open",
        "_problem",
        "_release",
        "_stub",
        "_tasks",
        "_used",
        "_users",
        "_woken",
    )

    def __init__(self, tasks: TaskGroup, open: Opened, release: Released) -> None:
        self._tasks, self._open, self._release = tasks, open, release
        self._group: ConversationGroup | None = None
        self._life: _Life | None = None
        self._stub: State | None = None
        self._lock: anyio.Lock | None = None
        self._woken: anyio.Event | None = None
        self._problem: BaseException | None = None
        self._users, self._used, self._closed = 0, 0.0, False

    @property
    def closed(self) -> bool:
        """Whether it was taken out of memory for good."""
        return self._closed

    @property
    def begun(self) -> bool:
        """Whether it was ever awake: it has a state."""
        return self._group is not None or self._stub is not None

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
        async with self._alone():
            if self._closed:
                raise ConfigurationError("the conversation was left: enter it again to go on")
            if self._group is None:
                await self._tasks.start(self._live, await (open or self._open)())
                self._used = time.monotonic()
                self._tell_woken()
            assert self._group is not None
            return self._group

    async def woken(self) -> None:
        """Return when the conversation is awake, or closed."""
        if self._group is None and not self._closed:
            self._woken = self._woken or anyio.Event()
            await self._woken.wait()

    async def settled(self) -> None:
        """Return when the conversation is not about to leave memory."""
        if self._group is None and self._life is not None:
            await self._life.left.wait()

    async def rest(self, idle: float) -> bool:
        """Let the conversation sleep if it was not used for `idle` seconds; whether it sleeps."""
        if self._busy(idle):
            return False
        async with self._alone():
            group, life = self._group, self._life
            if group is None or life is None:
                return True
            try:
                may_rest = await group.may_rest()
            except ActorError:
                return False
            if not may_rest or self._busy(idle):
                return False
            life.asleep = True
            self._leave(life)
            await life.left.wait()
        return True

    async def close(self) -> None:
        """Take the conversation out of memory, interrupted when it runs. Raises what failed in it."""
        self._closed = True
        try:
            with anyio.CancelScope(shield=True):
                async with self._alone():
                    if self._life is not None:
                        self._leave(self._life)
                        await self._life.left.wait()
        finally:
            self._tell_woken()
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def _busy(self, idle: float) -> bool:
        if self._group is None:
            return False
        last = max(self._used, self._group.feed.published)
        return self._users > 0 or time.monotonic() - last < idle

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """While nobody else wakes it or lets it sleep, and it is not leaving."""
        lock = self._lock = self._lock or anyio.Lock()
        async with lock:
            await self.settled()
            try:
                yield
            finally:
                if self._group is None and self._lock is lock and not lock.statistics().tasks_waiting:
                    self._lock = None  # a stub is small

    def _tell_woken(self) -> None:
        if self._woken is not None:
            self._woken.set()
            self._woken = None

    def _leave(self, life: _Life) -> None:
        """Give the group to nobody any more, and let its task end."""
        if self._group is not None:
            self._stub, self._group = _stub(self._group.feed.state), None
        life.end.set()

    async def _live(self, group: ConversationGroup, *, task_status: TaskStatus[None]) -> None:
        """The task of an awake conversation."""
        life, begun = _Life(), False
        try:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(lambda: self._release(group.feed.state))
                await stack.enter_async_context(group)
                await group.begin()
                begun, self._group, self._life = True, group, life
                task_status.started()
                try:
                    await life.end.wait()
                finally:
                    self._leave(life)
                if life.asleep:
                    with contextlib.suppress(ActorError, LogError):  # it has failed: opening it again says why
                        await group.say_asleep()
        except (Exception, BaseExceptionGroup) as problem:
            if not begun:
                raise
            self._problem = problem
        finally:
            if begun:
                self._stub, self._life = _stub(group.feed.state), None
            life.left.set()


def _stub(state: State) -> State:
    """What is kept of a state in sleep: what was spent, and what waits for a person."""
    return State(
        seq=state.seq,
        epoch=state.epoch,
        status=state.status,
        error=state.error,
        branch=Branch(pending=state.branch.pending),
        ledger=replace(state.ledger, message_ids=frozenset(), goal=None, secrets={}),
    )
