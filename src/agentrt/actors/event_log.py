"""`EventLogActor`: orders, commits and publishes events; holds the one fold of the state and hands out commands."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeAlias, assert_never

import anyio
import msgspec

from ..decisions import (
    AwaitChildren,
    AwaitResults,
    Command,
    End,
    Task,
    check,
    complete,
    decide,
    expiry,
    interruption,
    refusal,
    said,
    wanted,
    without_results,
)
from ..decisions.room import SLACK, admit, full, within
from ..deltas import Channel
from ..errors import ActorCrashed, ActorStopped, AgentrtError, EventRefused, LogFailed, NoLongerDue
from ..events import Cursor, Event, ExecutionStatus, InterruptEvent, MessageEvent
from ..protocols import Journal
from ..specs import BlobReference, BusyPolicy
from ..specs.content import TEXT
from ..specs.quota import Quota
from ..state import Seen, State
from .core import Request
from .deadline import Deadline, Overdue
from .feed import Feed
from .veil import Veil


class Append(Request[Cursor], frozen=True):
    """Append `events` as one batch, as the outcome of `command` when one is given."""

    events: tuple[Event, ...]
    command: str | None = None


class Say(Request[Cursor], frozen=True):
    """Append a user's message with `more`. `busy` is the policy if the agent is at work; None: the agent's own."""

    message: MessageEvent
    busy: BusyPolicy | None = None
    more: tuple[Event, ...] = ()


class Interrupt(Request[Cursor], frozen=True):
    """Log the intent to stop, on behalf of the principal `by`, and cut what is in flight."""

    reason: str = ""
    by: str | None = None


class Expire(Request[Cursor], frozen=True):
    """End a run that took all its `seconds`, and cut what is in flight."""

    seconds: float


LogRequest: TypeAlias = Append | Say | Interrupt | Expire

HandOut: TypeAlias = Callable[[Sequence[Task]], None]

Hide: TypeAlias = Callable[[Event], Event]
"""Masks the secrets in an event."""

Observer: TypeAlias = Callable[[Sequence[Event], State, float], None]
"""Gets each batch once it is durable: its events, the state after them, and the seconds that the commit took.

It runs on the event loop and delays the next batch, so it must be quick.
"""

_log = logging.getLogger(__name__)

UNBOUNDED = Quota()

CLEANUP_SECONDS = 5.0
"""Seconds that a cancelled ask waits for its batch, which is committed nevertheless."""


class _Commit:
    """A batch on its way to the disk, and what follows once it is there."""

    __slots__ = ("batch", "begun", "cut", "due", "encoded", "goes_on", "over", "reply", "state")

    def __init__(self, batch: Sequence[Event], state: State, due: Sequence[Task]) -> None:
        self.batch, self.state, self.due = batch, state, due
        cuts = [event for event in batch if isinstance(event, InterruptEvent)]
        self.cut = bool(cuts)
        self.goes_on = bool(cuts) and all(event.goes_on for event in cuts)
        """Whether it cuts only for a message, after which the run goes on."""
        self.encoded: Sequence[bytes] = ()
        """The JSON of the batch, until it is published."""
        self.over, self.begun = False, time.monotonic()
        self.reply: asyncio.Future[Cursor] = asyncio.get_running_loop().create_future()

    def end(self, failure: AgentrtError | None) -> None:
        """Tell the asker the outcome."""
        self.over = True
        if self.reply.done():
            return
        if failure is None:
            self.reply.set_result(Cursor(self.state.epoch, self.state.seq))
        else:
            self.reply.set_exception(failure)

    async def ended(self) -> None:
        """Return once the batch is committed or has failed. For an asker that was cancelled."""
        if self.reply.cancelled() and not self.over:
            self.reply = asyncio.get_running_loop().create_future()
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLEANUP_SECONDS):
                await asyncio.wait([self.reply])
        if self.reply.done():
            self.reply.exception()  # retrieved here, since nobody else does it


class EventLogActor:
    """The arbiter of one conversation.

    It decides a request at once, on the state after everything that it gave to the journal, and needs no task: the
    journal's acknowledgement publishes the batch. Only the askers wait, each for its own batch.

    A batch is completed before it is written: the start of each command that it makes due (`ModelCallStarted`,
    `ExecutionStarted`) is in the same commit, so a step costs two commits. A command is handed out only after its start
    is durable.
    """

    def __init__(
        self,
        journal: Journal,
        feed: Feed,
        hand_out: HandOut,
        cut: Callable[[bool], None],
        hide: Hide = lambda event: event,
        quota: Quota = Quota(),
        observers: Sequence[Observer] = (),
    ) -> None:
        self._journal, self._feed, self._hand_out, self._cut, self._hide = journal, feed, hand_out, cut, hide
        self._quota, self._observers = quota, observers
        self._state = feed.state
        self._handed: frozenset[str] = frozenset()
        self._ended: AgentrtError | None = None
        self._deadline, self._overdue = Deadline(self._expired), Overdue(self._no_result)
        self._resting = False

    async def ask(self, request: LogRequest) -> Cursor:
        """Commit a batch, which is visible when this returns. Cancelling this waits for the commit.

        Raise `NoLongerDue` or `EventRefused` with nothing written, `LogFailed` if the log takes no more, `ActorCrashed`
        after a bug, and `ActorStopped` once it is closed.
        """
        commit = self._begin(request)
        try:
            return await commit.reply
        except asyncio.CancelledError:
            await commit.ended()
            raise

    def rest(self) -> None:
        """Begin no more commands, whatever is requested. Running commands may still log their outcome."""
        self._resting = True

    def close(self) -> None:
        """Accept no more requests."""
        self._ended = self._ended or ActorStopped("log")
        self._deadline.close()
        self._overdue.close()

    def _begin(self, request: LogRequest) -> _Commit:
        if self._ended is not None:
            raise self._ended
        state, handed = self._state, self._handed
        try:
            commit = self._decide([self._hide(event) for event in self._wanted(request)])
            if commit.batch or self._state is not self._feed.state:
                commit.encoded = self._journal.append(commit.batch, partial(self._committed, commit))
            else:
                self._committed(commit, None)
        except AgentrtError:
            raise
        except UnicodeEncodeError as error:
            self._state, self._handed = state, handed
            raise EventRefused(f"the event contains text that is not valid Unicode: {error}") from error
        except (TypeError, msgspec.MsgspecError) as error:  # of a value that came from outside
            self._state, self._handed = state, handed
            raise EventRefused(f"the event cannot be encoded as JSON: {error}") from error
        except Exception as bug:
            raise self._end(ActorCrashed("log", bug)) from bug
        return commit

    def _decide(self, events: Sequence[Event]) -> _Commit:
        if not events:
            return _Commit((), self._state, ())
        check(self._state, events)
        batch, self._state, due = complete(self._state, events, self._due)
        commit = _Commit(batch, self._state, due)
        handed = frozenset() if commit.cut else self._handed
        commit.due = [command for command in due if command.id not in handed]
        self._handed = frozenset(command.id for command in due)
        return commit

    def _due(self, state: State) -> Sequence[Command]:
        due = decide(state)
        if self._resting:  # what is under way still ends
            due = tuple(command for command in due if isinstance(command, AwaitChildren | AwaitResults | End))
        return within(self._quota, state.seq, self._journal.size, due) if due and self._quota != UNBOUNDED else due

    def _idle_and_full(self) -> bool:
        state, quota = self._state, self._quota
        idle = not (state.status.at_work or state.in_flight)
        return idle and quota != UNBOUNDED and full(quota, state.seq, self._journal.size, SLACK) is not None

    def _wanted(self, request: LogRequest) -> Sequence[Event]:
        """Return the events that a request adds. Raise `NoLongerDue`, `LimitReached` or `ConversationBusy`."""
        match request:
            case Append(events, command):
                if (late := refusal(self._state, events, command)) is not None:
                    raise NoLongerDue(late)
                if command is None and self._quota != UNBOUNDED:
                    admit(self._quota, self._state.seq, self._journal.size, events)
                return wanted(self._state, events)
            case Say(message, busy, more):
                fresh = message.id not in self._state.ledger.message_ids
                if fresh and self._quota != UNBOUNDED:
                    admit(self._quota, self._state.seq, self._journal.size, (message, *more))
                return (*said(self._state, message, busy), *more) if fresh else ()
            case Interrupt() if self._idle_and_full():
                return ()
            case Interrupt(reason, by):
                return interruption(self._state, reason, by)
            case Expire(seconds):
                return expiry(self._state, seconds)
            case _:
                assert_never(request)

    def _committed(self, commit: _Commit, error: LogFailed | None) -> None:
        failure: AgentrtError | None = error and self._end(error)
        if failure is None:
            try:
                self._feed.publish(commit.batch, commit.state, commit.encoded)
                if commit.cut:
                    self._cut(commit.goes_on)
                self._hand_out(commit.due)
                self._deadline.watch(commit.state)
                self._overdue.watch(commit.state)
                self._journal.remember(commit.state)
            except Exception as bug:
                failure = self._end(ActorCrashed("log", bug))
            self._tell(commit)
        commit.end(failure)

    def _tell(self, commit: _Commit) -> None:
        for observer in self._observers:
            try:
                observer(commit.batch, commit.state, time.monotonic() - commit.begun)
            except Exception:  # an observer must not harm the log
                _log.exception("an observer of a conversation failed")

    def _expired(self, seconds: float) -> None:
        if self._ended is None and self._state.status is ExecutionStatus.RUNNING:
            self._begin(Expire(seconds))

    def _no_result(self, now: float) -> None:
        if self._ended is None and (events := without_results(self._state, now)):
            self._begin(Append(events))

    def _end(self, failure: AgentrtError) -> AgentrtError:
        """Accept no more requests, and tell everyone why."""
        if not isinstance(self._ended, (LogFailed, ActorCrashed)):
            self._ended = failure
            self._feed.fail(failure)
            self._cut(False)
        return failure


class Log:
    """A performer's access to the log: the published state, and the way to append."""

    def __init__(self, actor: EventLogActor, feed: Feed, journal: Journal, veil: Veil) -> None:
        self._actor, self._feed, self._journal, self._veil = actor, feed, journal, veil

    @property
    def state(self) -> State:
        """The state after the last durable event."""
        return self._feed.state

    def append(self, *events: Event, command: str | None = None) -> Coroutine[Any, Any, Cursor]:
        """Append a batch, which is durable and visible when this returns. Raise as `EventLogActor.ask` does."""
        return self._actor.ask(Append(events, command))

    async def say(self, message: MessageEvent, busy: BusyPolicy | None = None, more: Sequence[Event] = ()) -> Cursor:
        """Append a user's message with `more`, unless the log has it. Raise `ConversationBusy` if it is rejected."""
        return await self._actor.ask(Say(message, busy, tuple(more)))

    async def wait_for(self, holds: Callable[[State], bool]) -> State:
        """Return the first state for which `holds`, or the last one."""
        return await self._feed.wait_for(holds)

    async def interrupt(self, reason: str = "", by: str | None = None) -> Cursor:
        """Log an interrupt, with a result for each action that has not begun."""
        return await self._actor.ask(Interrupt(reason, by))

    async def expire(self, seconds: float) -> Cursor:
        """End a run that took all its `seconds`, as its deadline does; do nothing if it has ended."""
        return await self._actor.ask(Expire(seconds))

    async def load(self, view: Sequence[Seen]) -> list[Event]:
        """Return the events at places of a view. Raise `LogCorrupt`."""
        return await self._feed.load(view)

    def events(self, after: int) -> AsyncIterator[Event]:
        """Yield the events after a seq, up to the last durable one. Raise `LogCorrupt`."""
        upto = self.state.seq
        return self._feed.events(after, lambda state: state.seq >= upto)

    async def newest(self, holds: Callable[[Seen], bool]) -> Event | None:
        """Return the event of the last place in the view for which `holds`, or None. Raise `LogCorrupt`."""
        found = next(filter(holds, reversed(self.state.branch.view)), None)
        return None if found is None else (await self.load([found]))[0]

    def show(self, becomes: str, channel: Channel, piece: str, command: str) -> None:
        """Publish a piece of the text that `command` makes and that will be the event `becomes`.

        It is visible until that event is published, and no longer than the command is in flight.
        """
        self._feed.show(becomes, channel, piece, command)

    def drop(self, becomes: str) -> None:
        """Take back what was shown of an event that will not exist."""
        self._feed.drop(becomes)

    async def sync(self) -> None:
        """Make everything durable that was acknowledged. Raise `LogFailed`."""
        await self._journal.sync()

    async def keep(self, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
        """Store bytes beside the log, with secrets masked; durable when this returns. Raise `LogFailed`."""
        with self._feed.keeping():
            return await self._journal.keep(await self._veil.data(data), name, media_type)

    async def fetch(self, blob: BlobReference) -> bytes:
        """Return bytes that were stored. Raise `LogCorrupt` if they are gone or damaged."""
        return await self._journal.fetch(blob)
