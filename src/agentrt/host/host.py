"""`Host`: keeps one conversation in memory while it is used, and lets it sleep when it is not."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskStatus
from msgspec.structs import replace

from ..actors.group import ConversationGroup
from ..decisions import held_resources
from ..errors import ActorError, ConfigurationError, ConversationExists, LogError, LogFailed
from ..events import ConversationErrorEvent, ExecutionStatus
from ..ledger import Counting
from ..secrets import SecretRegistry
from ..specs import Durability
from ..state import Branch, State
from .opening import NOTHING, agreed

if TYPE_CHECKING:
    from .guest import Guest
    from .hosts import Hosts

Opened = Callable[[], Awaitable[ConversationGroup]]

TAKEN_OVER = "the conversation that delegated this goes on with it"
"""The reason of the pause of a child that somebody else ran."""


class _Life:
    """An awake conversation: `end` tells its task to leave, and `left` is set once the task has left."""

    __slots__ = ("asleep", "end", "failure", "left")

    def __init__(self) -> None:
        self.end, self.left = anyio.Event(), anyio.Event()
        self.asleep = False
        """Whether it ends because it goes to sleep."""
        self.failure: Exception | None = None
        """Why its log takes no more events."""


class Host:
    """One conversation's place in a process, shared by all who have it open.

    Awake, it has a group of actors in a task of its own. Asleep, it is a stub: its last state without its history, and
    what it is opened with. Leaving goes on in that task even if the caller is cancelled, and openers that come
    meanwhile wait for its end. The host exists while it has guests.
    """

    __slots__ = (
        "_group",
        "_hosts",
        "_life",
        "_lock",
        "_news",
        "_problem",
        "_stub",
        "_used",
        "_users",
        "guests",
        "name",
        "opening",
    )

    def __init__(self, name: str, hosts: Hosts) -> None:
        self.name, self._hosts = name, hosts
        self.guests: tuple[Guest, ...] = ()
        """Those who have it open."""
        self.opening = NOTHING
        """What it is opened with."""
        self._group: ConversationGroup | None = None
        self._life: _Life | None = None
        self._stub: State | None = None
        self._lock: anyio.Lock | None = None
        self._news: anyio.Event | None = None
        """Set when the conversation wakes, a guest leaves, or nobody uses it any more."""
        self._problem: BaseException | None = None
        self._users, self._used = 0, 0.0

    @property
    def begun(self) -> bool:
        """Whether it was ever awake, so that it has a state."""
        return self._group is not None or self._stub is not None

    @property
    def delegated(self) -> bool:
        """Whether the conversation that delegates to this one has it open."""
        return any(guest.opening.delegates for guest in self.guests)

    @property
    def group(self) -> ConversationGroup | None:
        """The conversation's actors, while it is awake."""
        return self._group

    @property
    def state(self) -> State:
        """The state after the last event; while the conversation sleeps, without its history and configuration."""
        if self._group is not None:
            return self._group.feed.state
        if self._stub is None:
            raise ConfigurationError("a conversation must be entered first: use 'async with'")
        return self._stub

    async def enter(self, guest: Guest, begin: Opened | None, *, new: bool) -> ConversationGroup:
        """Bring the conversation into memory for a guest; see `Guest.enter`."""
        comes = guest.opening
        async with self._alone():
            self._expect(guest)
            if new and self._group is not None:
                raise ConversationExists(self.name)
            others = [one.opening for one in self.guests if one is not guest]
            opening = agreed(self.name, comes, self.opening, others)
            if self._group is not None and opening is not self.opening:
                await self._give_up(self._group, always=comes.delegates)
            self.opening = opening
            return self._group or await self._start(begin)

    async def leave(self, guest: Guest, *, stop: bool) -> None:
        """Remove a guest; see `Guest.leave`."""
        self.guests = tuple(one for one in self.guests if one is not guest)
        self._tell_guests()
        if stop or not self.guests:
            over = anyio.Event()
            self._hosts.tasks.start_soon(self._let_go, stop, over)  # it ends even if this is cancelled
            with anyio.CancelScope(shield=True):
                await over.wait()
            self._fail()

    async def close(self) -> None:
        """Have all guests leave. Raise the error that ended the conversation, if any."""
        self.guests = ()
        self._tell_guests()
        await self._let_go(True, anyio.Event())
        self._fail()

    async def _let_go(self, stop: bool, over: anyio.Event) -> None:
        """Take it out of memory, interrupting what runs; without `stop`, only if it has no guests.

        If it has no guests, remove its host.
        """
        with anyio.CancelScope(shield=True):
            async with self._alone():
                if stop or not self.guests:
                    await self._end()
                if not self.guests:
                    self.opening = NOTHING
                    self._hosts.forget(self)
        over.set()

    @asynccontextmanager
    async def use(self, guest: Guest) -> AsyncIterator[ConversationGroup]:
        """Yield the conversation, awake until the body has ended. Raise what opening it raises."""
        group = self._group if self._group is not None and not guest.left else await self._wake(guest)
        self._users += 1
        try:
            yield group
        finally:
            self._users -= 1
            if self._group is not None:
                self._used = time.monotonic()
            if not self._users:
                self._tell()

    def keep(self, secrets: SecretRegistry) -> None:
        """Note that its secrets were changed, so that the registry outlives its sleep."""
        kept = secrets if secrets.used or self.delegated else None
        if kept is not self.opening.secrets:
            self.opening = replace(self.opening, secrets=kept)

    async def news(self) -> None:
        """Return when the conversation wakes, a guest leaves, or nobody uses it any more."""
        self._news = self._news or anyio.Event()
        await self._news.wait()

    async def settled(self) -> None:
        """Return when the conversation is not about to leave memory."""
        if self._group is None and self._life is not None:
            await self._life.left.wait()

    async def rest(self, idle: float) -> bool:
        """Let the conversation sleep if it was not used for `idle` seconds. Return whether it sleeps."""
        if self._busy(idle):
            return False
        async with self._alone():
            if (group := self._group) is None:
                return True
            if not await _may_rest(group) or self._busy(idle):
                return False
            await self._end(asleep=True)
        return True

    async def rest_if_due(self, idle: float, ended: float, *, short: bool) -> None:
        """Let the conversation sleep if it was not used for `idle` seconds.

        If it holds a shell, kernel, browser or the like: it sleeps after `ended` seconds if it has ended and nobody
        follows it; it stays awake if it waits for a person, unless memory is `short`, since an approved action should
        find its shell.
        """
        if self._group is not None and ((state := self._group.feed.state).background or held_resources(state)):
            if state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION and not short:
                return  # also for a task in the background, which sleeps with it
            if state.status.over and not self._group.feed.followed:
                idle = min(idle, ended)
        await self.rest(idle)

    def _busy(self, idle: float) -> bool:
        if self._group is None:
            return False
        last = max(self._used, self._group.feed.published)
        return self._users > 0 or self.delegated or time.monotonic() - last < idle

    async def _wake(self, guest: Guest) -> ConversationGroup:
        async with self._alone():
            self._expect(guest)
            return self._group or await self._start(None)

    def _expect(self, guest: Guest) -> None:
        """Raise `ConfigurationError` if a guest has left: if it woke the conversation, nobody would release it."""
        if guest.left:
            raise ConfigurationError("the conversation was left: enter it again to go on")

    async def _start(self, begin: Opened | None) -> ConversationGroup:
        """Bring it into memory. Raise what opening it raises."""
        with self._hosts.reporting(self.name):
            if begin is None:
                opened = await self._hosts.source.open(
                    self.name, self.opening.tools, self.opening.secrets, self.opening.place
                )
            else:
                opened = await begin()
            await self._hosts.tasks.start(self._live, opened)
        self._used = time.monotonic()
        self.keep(opened.secrets)
        self._tell()
        assert self._group is not None
        return self._group

    async def _give_up(self, group: ConversationGroup, *, always: bool) -> None:
        """Take it out of memory, to open it with other tools or secrets.

        If it is at work, pause it first if `always`, else raise `ConfigurationError`.
        """
        if always:
            await group.settle(TAKEN_OVER)
            while self._users:
                await self.news()
        elif self._users or not await _may_rest(group):
            raise ConfigurationError(
                f"conversation {self.name!r} is running: open it without tools or secrets, or when it is idle"
            )
        await self._end()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Keep others from waking it or letting it sleep, once it is not about to leave memory."""
        lock = self._lock = self._lock or anyio.Lock()
        async with lock:
            await self.settled()
            try:
                yield
            finally:
                if self._group is None and self._lock is lock and not lock.statistics().tasks_waiting:
                    self._lock = None  # keeps the stub small

    def _tell(self) -> None:
        """Wake those who wait for news."""
        if self._news is not None:
            self._news.set()
            self._news = None

    def _tell_guests(self) -> None:
        """Wake those who follow it or wait for it, so that a guest that has left stops."""
        if self._group is not None:
            self._group.feed.look_again()
        self._tell()

    async def _end(self, *, asleep: bool = False) -> None:
        """Take it out of memory."""
        if (life := self._life) is not None:
            life.asleep = asleep
            self._leave(life)
            await life.left.wait()

    def _fail(self) -> None:
        """Raise the error that ended its task, once."""
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def _leave(self, life: _Life) -> None:
        """Replace the group by a stub, so that nobody gets the group any more, and let its task end."""
        if self._group is not None:
            self._stub, self._group, self._used = _left(self._group.feed.state, life.failure), None, 0.0
        life.end.set()

    async def _live(self, group: ConversationGroup, *, task_status: TaskStatus[None]) -> None:
        """The task of an awake conversation."""
        life, begun = _Life(), False
        try:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(
                    lambda: self._hosts.source.release(self.name, group.feed.state, group.secrets)
                )
                await stack.enter_async_context(group)
                await group.begin()
                if group.feed.error is not None:
                    raise group.feed.error
                begun, self._group, self._life = True, group, life
                group.feed.when_failed = partial(self._has_failed, life)
                group.feed.when_not_kept = partial(self._hosts.report, self.name)
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
                self._stub, self._life = _left(await self._remaining(group.feed.state, life), life.failure), None
            life.left.set()

    def _has_failed(self, life: _Life, failure: Exception) -> None:
        """Close a log that takes no more events. The next use opens it again, from what is on disk."""
        life.failure = failure
        self._hosts.report(self.name, failure)
        self._leave(life)

    async def _remaining(self, state: State, life: _Life) -> State:
        """Return the last state, as the next use will find it. Of a failed log, events may be lost that were
        acknowledged before they were synced; then a new epoch begins.
        """
        if life.failure is None or state.durability is Durability.COMMIT:
            return state
        with anyio.CancelScope(shield=True), contextlib.suppress(LogError):
            state = await self._hosts.source.store.history(self.name).state()
        return replace(state, epoch=state.epoch + 1)


async def _may_rest(group: ConversationGroup) -> bool:
    try:
        return await group.may_rest()
    except ActorError:
        return False


_NOTHING_WAITS, _UNKNOWN = Branch(), Counting()
_NONE: dict[str, Any] = {}
"""Empty values that stubs share."""


LOG_FAILED = "log-failed"
"""The code of the error of a conversation whose log takes no more events, until it is used again."""


def _left(state: State, failure: Exception | None) -> State:
    """Return what is kept of a state out of memory. Of a failed log, all of it, with the failure: the log lacks it."""
    if failure is None:
        return _stub(state)
    error = ConversationErrorEvent(code=LOG_FAILED, detail=_why(failure), retryable=True)
    return replace(state, status=ExecutionStatus.ERROR, error=error)


def _why(failure: Exception) -> str:
    """Return what a client is told of a failure: nothing of this machine's paths."""
    cause = failure.cause.strerror or failure.cause if isinstance(failure, LogFailed) else type(failure).__name__
    return f"the log takes no more events ({cause}): nothing acknowledged is lost; once that is fixed, run it again"


def _stub(state: State) -> State:
    """Return the part of a state that is kept in sleep: what was spent, and what waits for a person."""
    return State(
        seq=state.seq,
        epoch=state.epoch,
        status=state.status,
        error=state.error,
        answer=state.answer,
        branch=Branch(pending=state.branch.pending) if state.branch.pending else _NOTHING_WAITS,
        ledger=replace(
            state.ledger,
            message_ids=frozenset(),
            goal=None,
            secrets=_NONE,
            past_secrets=(),
            counting=_UNKNOWN,
            children=state.ledger.children or _NONE,
            reserved=state.ledger.reserved or _NONE,
            tags=state.ledger.tags or _NONE,
        ),
    )
