"""`EventLogActor`: orders, commits and publishes events; holds the one fold of the state and hands out commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from ..decisions import (
    AssessRisk,
    CallModel,
    Command,
    Condense,
    ExecuteAction,
    RequestConfirmation,
    StopRun,
    check,
    decide,
    interruption,
    refusal,
)
from ..errors import LogFailed, NoLongerDue
from ..events import (
    ConfirmationRequested,
    ConversationErrorEvent,
    Cursor,
    Delta,
    Event,
    ExecutionStarted,
    ModelCallStarted,
)
from ..protocols import Journal
from ..specs import BlobReference
from ..state import State, apply
from .core import Ref, Request
from .feed import Feed


class Append(Request[Cursor], frozen=True):
    """Append `events` as one batch, as the outcome of `command` when one is given."""

    events: tuple[Event, ...]
    command: str | None = None


class Interrupt(Request[Cursor], frozen=True):
    """Log the intent to stop, and cut what is in flight."""

    reason: str = ""


LogRequest: TypeAlias = Append | Interrupt

HandOut: TypeAlias = Callable[[Sequence[Command]], None]


class EventLogActor(AbstractAsyncContextManager["EventLogActor"]):
    """The arbiter of one conversation.

    A batch is completed before it is written: what it makes due is begun in the same commit (`ModelCallStarted`,
    `ExecutionStarted`), so a step costs two commits, and a command is handed out only after its start is durable.
    """

    def __init__(self, journal: Journal, feed: Feed, hand_out: HandOut, cut: Callable[[], None]) -> None:
        self._journal, self._feed, self._hand_out, self._cut = journal, feed, hand_out, cut
        self._handed: frozenset[str] = frozenset()

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: LogRequest) -> Cursor:
        """Commit a batch; everyone sees it when this returns.

        Raises `NoLongerDue` or `EventRefused` with nothing written, `LogFailed` when the log takes no more.
        """
        match message:
            case Append(events, command):
                if (late := refusal(self._feed.state, events, command)) is not None:
                    raise NoLongerDue(late)
                received = self._feed.state.ledger.message_ids
                return await self._commit([event for event in events if event.id not in received])
            case Interrupt(reason):
                cursor = await self._commit(interruption(self._feed.state, reason))
                self._cut()
                return cursor
            case _:
                assert_never(message)

    async def _commit(self, events: Sequence[Event]) -> Cursor:
        if events:
            check(self._feed.state, events)
            batch, state, due = _complete(self._feed.state, events)
            await self._write(batch)
            self._feed.publish(batch, state)
            fresh = [command for command in due if command.id not in self._handed]
            self._handed = frozenset(command.id for command in due)
            self._hand_out(fresh)
        return self._feed.cursor()

    async def _write(self, batch: Sequence[Event]) -> None:
        try:
            await self._journal.append(batch)
        except LogFailed as failure:
            self._feed.fail(failure)
            self._cut()
            raise


def _complete(state: State, events: Sequence[Event]) -> tuple[list[Event], State, list[Command]]:
    """The batch, numbered, with the starts of what it makes due; the state after it, and what is due then."""
    batch: list[Event] = []

    def take(event: Event) -> None:
        nonlocal state
        numbered = replace(event, seq=state.seq + 1)
        state = apply(state, numbered)
        batch.append(numbered)

    for event in events:
        take(event)
    commands = decide(state)
    for command in commands:
        if (start := _start(command)) is not None:
            take(start)
    return batch, state, [command for command in commands if not isinstance(command, (RequestConfirmation, StopRun))]


def _start(command: Command) -> Event | None:
    """The event that is logged as a command is handed out; None for what may be begun twice."""
    match command:
        case CallModel(id):
            return ModelCallStarted(command=id)
        case ExecuteAction(id, action, attempt):
            return ExecutionStarted(command=id, action_id=action.id, attempt=attempt, caused_by=action.id)
        case RequestConfirmation(_, action_ids):
            return ConfirmationRequested(action_ids=action_ids)
        case StopRun(_, code, detail):
            return ConversationErrorEvent(code=code, detail=detail)
        case AssessRisk() | Condense():
            return None
        case _:
            assert_never(command)


class Log:
    """A performer's end of the log: the published state, and the way to append."""

    def __init__(self, ref: Ref, feed: Feed, journal: Journal) -> None:
        self._ref, self._feed, self._journal = ref, feed, journal

    @property
    def state(self) -> State:
        """The state after the last durable event."""
        return self._feed.state

    async def append(self, *events: Event, command: str | None = None) -> Cursor:
        """Append a batch; durable and visible when this returns. Raises as `EventLogActor.handle` does."""
        return await self._ref.ask(Append(events, command))

    async def interrupt(self, reason: str = "") -> Cursor:
        """Log an interrupt, with a result for each action that has not begun."""
        return await self._ref.ask(Interrupt(reason))

    def show(self, delta: Delta) -> None:
        """Publish a delta."""
        self._feed.show(delta)

    async def keep(self, data: bytes, name: str) -> BlobReference:
        """Store bytes beside the log; durable when this returns. Raises `LogFailed`."""
        return await self._journal.keep(data, name)
