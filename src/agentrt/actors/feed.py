"""`Feed`: the published side of a log: the state, drafts of growing text, and subscribers with a cursor in both."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from ..deltas import Channel, Delta, Draft, Reader
from ..errors import LogFailed
from ..events import Cursor, Event, ModelCallRetried
from ..protocols import Records
from ..state import Seen, State, shown
from .veil import Veil

RECENT = 64
"""Number of events kept in memory for performers and for subscribers that are nearly up to date; the file has all."""

COALESCE = 0.025
"""Minimum number of seconds between wake-ups of a conversation's subscribers for deltas; a new draft does not wait."""

Until = Callable[[State], bool]


def always(state: State) -> bool:
    """Return True for every state."""
    return True


def never(state: State) -> bool:
    """Return False for every state."""
    return False


def ignore(error: Exception) -> None:
    """Do nothing about a failure."""


class _Subscriber(Reader):
    """A subscriber to deltas, which waits for `news` when there are none."""

    __slots__ = ("news",)

    def __init__(self) -> None:
        super().__init__()
        self.news: asyncio.Future[None] | None = None

    def wake(self) -> None:
        """Tell it that there is news."""
        if self.news is not None and not self.news.done():
            self.news.set_result(None)


class Fresh:
    """The JSON of events that were published, for one reader, until the reader takes it or is too far behind."""

    def __init__(self) -> None:
        self._encoded: dict[int, bytes] = {}

    def add(self, events: Sequence[Event], encoded: Sequence[bytes]) -> None:
        """Keep what was published. If too much was not taken, forget what came before."""
        if len(self._encoded) + len(encoded) > RECENT:
            self._encoded.clear()
        for event, data in zip(events, encoded, strict=False):
            self._encoded[event.seq] = data

    def take(self, seq: int) -> bytes | None:
        """Return the JSON of an event, once; None if it must be read from the file."""
        return self._encoded.pop(seq, None)


class Feed:
    """What the log made visible. Everything in it is durable except drafts: the text so far of unfinished events.

    A command makes a draft. The draft is forgotten when the event that it becomes is published, when it is dropped, and
    at the latest when its command is no longer in flight, so none can leak. Subscribers hold a position in each draft:
    a slow one gets fewer and longer deltas, a late one the draft so far, and none gets text that an event has replaced.
    """

    def __init__(self, records: Records, state: State, veil: Veil | None = None) -> None:
        self._records, self._veil = records, veil
        self.state = state
        self._recent: deque[Event] = deque(maxlen=RECENT)
        self._waiting: dict[asyncio.Future[None], Until] = {}
        self._drafts: dict[tuple[str, Channel], Draft] = {}
        self._subscribers: dict[_Subscriber, None] = {}
        self._fresh: list[Fresh] = []
        self._timer: asyncio.TimerHandle | None = None
        """Runs from when subscribers were woken for deltas until they may be woken again."""
        self._unsaid = False
        """Whether a draft has grown since then."""
        self._version = 0 if veil is None else veil.version
        """The version of the secrets that are masked in the drafts."""
        self._error: Exception | None = None
        self._closed = False
        self.when_failed: Callable[[Exception], None] = ignore
        """Called when the log has failed."""
        self.when_not_kept: Callable[[Exception], None] = ignore
        """Called when bytes could not be stored beside the log, which itself goes on."""
        self.published = time.monotonic()
        """When something was last published, by the clock of `time.monotonic`."""

    @property
    def followed(self) -> bool:
        """Whether somebody follows it with deltas, as a person's client does."""
        return bool(self._subscribers)

    @property
    def error(self) -> Exception | None:
        """Why the log has failed and takes no more events; None if it has not."""
        return self._error

    @property
    def failed(self) -> bool:
        """Whether the log has failed and takes no more events."""
        return self._error is not None

    def publish(self, events: Sequence[Event], state: State, encoded: Sequence[bytes] = ()) -> None:
        """Make committed events visible; `encoded` is their JSON, for readers that pass it on."""
        self._recent.extend(events)
        for fresh in self._fresh:
            fresh.add(events, encoded)
        self.state, self.published = state, time.monotonic()
        if self._drafts:
            self._replace(events)
        self._wake()

    def show(self, becomes: str, channel: Channel, piece: str, command: str) -> None:
        """Add a piece to the draft that `command` makes and that will be the event `becomes`.

        Nothing is shown if the command is not in flight.
        """
        self._begin_anew()
        draft, first = self._drafts.get((becomes, channel)), False
        if draft is None:
            if command not in self.state.in_flight:
                return
            draft, first = self._begin(Draft(becomes, channel, command, hide=self._hide())), True
        draft.add(piece, self.state.seq)
        self._grown(first)

    def relay(self, delta: Delta) -> None:
        """Add a delta of another feed to its draft. If it does not follow on the text so far, begin the draft anew."""
        if not self.state.in_flight:
            return
        draft = self._drafts.get((delta.becomes, delta.channel))
        first = draft is None
        if draft is not None and draft.end != delta.start:
            self._forget([draft])
            draft = None
        if draft is None:
            draft = self._begin(Draft(delta.becomes, delta.channel, "", start=delta.start))
        draft.add(delta.text, delta.after)
        self._grown(first)

    def drop(self, becomes: str) -> None:
        """Forget the drafts of an event that will not exist, because its model call is retried or failed."""
        self._forget([draft for draft in self._drafts.values() if draft.becomes == becomes])

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Report a `LogFailed` of the body, which stores bytes beside the log."""
        try:
            yield
        except LogFailed as failure:
            self.when_not_kept(failure)
            raise

    def fail(self, error: Exception) -> None:
        """End every subscription with `error`, once it has every committed event."""
        self._error = error
        self._wake()
        self.when_failed(error)

    def close(self) -> None:
        """End every subscription, once it has every committed event."""
        self._closed = True
        self._wake()

    def look_again(self) -> None:
        """Have all waiters check their condition again, since it may depend on more than the state."""
        self._wake()

    async def wait_for(self, holds: Until) -> State:
        """Return the first state for which `holds`, or the last one. Raise the error with which the log failed."""
        while not holds(self.state):
            if self._error is not None:  # a log that failed is closed soon after
                raise self._error
            if self._closed:
                break
            await self._change(holds)
        return self.state

    async def events(self, after: int, until: Until = never) -> AsyncIterator[Event]:
        """Yield the events after seq `after`, from the file and then live, without a gap; end when `until` holds."""
        async for item in self.stream(after, until, deltas=False):
            if not isinstance(item, Delta):
                yield item

    async def stream(
        self, after: int, until: Until = never, *, deltas: bool = True, fresh: Fresh | None = None
    ) -> AsyncIterator[Event | Delta]:
        """Yield as `events` does, with deltas in between. A delta comes after all events published when it was shown.

        `fresh` gets the JSON of the events that are published meanwhile.
        """
        subscriber = _Subscriber()
        if fresh is not None:
            self._fresh.append(fresh)
        if deltas:
            self._begin_anew()
            subscriber.places = dict.fromkeys(self._drafts.values(), 0)
            self._subscribers[subscriber] = None
        try:
            while True:
                state = self.state
                if after < state.seq:
                    if (found := self._in_memory(after, state.seq)) is not None:
                        after = state.seq
                        for event in found:
                            yield event
                        continue
                    async for event in self._records.read(after, state.seq):
                        after = event.seq
                        yield event
                elif until(state):
                    return
                elif self._error is not None:  # a log that failed is closed soon after
                    raise self._error
                elif self._closed:
                    return
                elif (delta := subscriber.read()) is not None:
                    yield delta
                else:
                    await self._change(subscriber=subscriber)
        finally:
            if deltas:
                self._leave(subscriber)
            if fresh is not None:
                self._fresh.remove(fresh)

    def _leave(self, subscriber: _Subscriber) -> None:
        del self._subscribers[subscriber]
        subscriber.places.clear()
        if not self._subscribers and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hide(self) -> Callable[[str], str] | None:
        return None if self._veil is None else self._veil.stream()

    def _begin_anew(self) -> None:
        """If more secrets are known than before, forget the text of the drafts, since it may contain one of them.

        They begin anew after a gap of one character, so that readers of the text so far see that some was skipped.
        """
        if self._veil is None or self._veil.version == self._version:
            return
        self._version = self._veil.version
        for draft in [*self._drafts.values()]:
            self._forget([draft])
            start = draft.end + 1
            self._begin(Draft(draft.becomes, draft.channel, draft.command, start=start, hide=self._hide()))

    def _begin(self, draft: Draft) -> Draft:
        self._drafts[draft.becomes, draft.channel] = draft
        for subscriber in self._subscribers:
            subscriber.places[draft] = draft.end
        return draft

    def _forget(self, drafts: Sequence[Draft]) -> None:
        for draft in drafts:
            del self._drafts[draft.becomes, draft.channel]
            for subscriber in self._subscribers:
                del subscriber.places[draft]

    def _replace(self, events: Sequence[Event]) -> None:
        """Forget the drafts that became one of the events or are void, and those whose command has ended. The command
        of a relayed draft is unknown, so relayed drafts are forgotten when nothing is in flight."""
        ids, commands = {event.id for event in events}, self.state.in_flight
        ids |= {event.draft for event in events if isinstance(event, ModelCallRetried) and event.draft}
        over = [
            draft
            for draft in self._drafts.values()
            if draft.becomes in ids or not (draft.command in commands if draft.command else commands)
        ]
        self._forget(over)

    def _grown(self, first: bool) -> None:
        if self._subscribers:
            self._unsaid = True
            if first or self._timer is None:
                self._say()

    def _say(self) -> None:
        """Wake the subscribers for deltas, and not again for `COALESCE` seconds unless a new draft begins."""
        self._unsaid = False
        for subscriber in self._subscribers:
            subscriber.wake()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COALESCE, self._say_more)

    def _say_more(self) -> None:
        self._timer = None
        if self._unsaid:
            self._say()

    def _in_memory(self, after: int, upto: int) -> list[Event] | None:
        """Return the events after seq `after`, up to `upto`; None if the first of them is only in the file."""
        recent = self._recent
        if not recent or recent[0].seq > after + 1:
            return None
        return list(islice(recent, after + 1 - recent[0].seq, upto + 1 - recent[0].seq))

    async def page(self, after: int, upto: int) -> Sequence[Event]:
        """Return the events after seq `after`, up to `upto`, all at once. Both must be visible."""
        found = self._in_memory(after, upto)
        return found if found is not None else await self._records.load(range(after + 1, upto + 1))

    async def load(self, view: Sequence[Seen]) -> list[Event]:
        """Return the events at places of a view. Those that are not recent are read from the file."""
        recent, first = self._recent, self._recent[0].seq if self._recent else self.state.seq + 1
        found = {seen.seq: recent[seen.seq - first] for seen in view if seen.seq >= first}  # before the deque moves on
        if len(found) < len(view):
            older = sorted({seen.seq for seen in view if seen.seq < first})
            found |= zip(older, await self._records.load(older), strict=True)
        return [shown(found[seen.seq], seen) for seen in view]

    def cursor(self) -> Cursor:
        """Return the cursor after the last visible event."""
        return Cursor(self.state.epoch, self.state.seq)

    async def _change(self, holds: Until = always, subscriber: _Subscriber | None = None) -> None:
        """Wait for news: a state for which `holds`, or deltas for a subscriber."""
        news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[news] = holds
        if subscriber is not None:
            subscriber.news = news
        try:
            await news
        finally:
            self._waiting.pop(news, None)

    def _wake(self) -> None:
        over, state = self._closed or self._error is not None, self.state
        woken = [news for news, holds in self._waiting.items() if over or holds(state)]
        for news in woken:
            del self._waiting[news]
            if not news.done():
                news.set_result(None)
