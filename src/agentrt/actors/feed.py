"""The published side of a log: the state, and subscribers that each hold a cursor."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from ..events import Condensation, Cursor, Delta, Event
from ..protocols import Journal
from ..state import Seen, State, summarized

RECENT = 64
"""Events kept in memory for performers and for subscribers that are nearly up to date; the file has the rest."""

DELTAS = 1024
"""Deltas kept for a subscriber that does not read them; older ones are dropped."""


class Feed:
    """What the log made visible: everything in it is durable, but for deltas."""

    def __init__(self, journal: Journal, state: State) -> None:
        self._journal = journal
        self.state = state
        self._recent: deque[Event] = deque(maxlen=RECENT)
        self._waiting: list[tuple[Callable[[State], bool], asyncio.Future[None]]] = []
        self._deltas: list[deque[Delta]] = []
        self._error: Exception | None = None
        self._closed = False
        self.published = time.monotonic()
        """When something was made visible last, on the clock of `time.monotonic`."""

    @property
    def failed(self) -> bool:
        """Whether the log takes no more."""
        return self._error is not None

    def publish(self, events: Sequence[Event], state: State) -> None:
        """Make committed events visible."""
        self._recent.extend(events)
        self.state, self.published = state, time.monotonic()
        self._wake()

    def show(self, delta: Delta) -> None:
        """Give a piece of something unfinished to those who want such."""
        if self._deltas:
            for waiting in self._deltas:
                waiting.append(delta)
            self._wake()

    def fail(self, error: Exception) -> None:
        """End every subscription with `error`, once it has what was committed."""
        self._error = error
        self._wake()

    def close(self) -> None:
        """End every subscription, once it has what was committed."""
        self._closed = True
        self._wake()

    async def wait_for(self, holds: Callable[[State], bool]) -> State:
        """The first state for which `holds`, or the last one. Raises the error that the log failed with."""
        while not holds(self.state) and not self._closed:
            if self._error is not None:
                raise self._error
            await self._change(holds)
        return self.state

    async def events(self, after: int, until: Callable[[State], bool] = lambda state: False) -> AsyncIterator[Event]:
        """The events after seq `after`, first from the file, then live, without a gap; ends when `until` holds."""
        async for event in self.stream(after, deque(), until):
            if not isinstance(event, Delta):
                yield event

    @contextmanager
    def deltas(self) -> Iterator[deque[Delta]]:
        """Collects deltas while entered; those of a slow reader are dropped."""
        waiting: deque[Delta] = deque(maxlen=DELTAS)
        self._deltas.append(waiting)
        try:
            yield waiting
        finally:
            self._deltas = [other for other in self._deltas if other is not waiting]

    async def stream(
        self, after: int, deltas: deque[Delta], until: Callable[[State], bool] = lambda state: False
    ) -> AsyncIterator[Event | Delta]:
        """As `events`, with the collected deltas in between."""
        while True:
            state = self.state
            while deltas:
                yield deltas.popleft()
            if after < state.seq:
                async for event in self._between(after, state.seq):
                    after = event.seq
                    yield event
                continue
            if until(state) or self._closed:
                return
            if self._error is not None:
                raise self._error
            if not deltas and after >= self.state.seq:
                await self._change()

    async def _between(self, after: int, upto: int) -> AsyncIterator[Event]:
        recent = self._recent
        if recent and recent[0].seq <= after + 1:
            for event in list(islice(recent, after + 1 - recent[0].seq, None)):
                yield event
            return
        async for event in self._journal.read(after, upto):
            yield event

    async def load(self, view: Sequence[Seen]) -> list[Event]:
        """The events of places in a view, of which those that are not recent are read from the file."""
        recent, first = self._recent, self._recent[0].seq if self._recent else self.state.seq + 1
        older = sorted(seen.seq for seen in view if seen.seq < first)
        read = dict(zip(older, await self._journal.load(older), strict=True)) if older else {}
        return [_shown(read.get(seen.seq) or recent[seen.seq - first]) for seen in view]

    def cursor(self) -> Cursor:
        """After the last visible event."""
        return Cursor(self.state.epoch, self.state.seq)

    async def _change(self, holds: Callable[[State], bool] = lambda state: True) -> None:
        """Wait for news; those of the state only when it `holds`."""
        news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = (holds, news)
        self._waiting.append(waiting)
        try:
            await news
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            raise

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for holds, news in waiting:
            if news.done():
                continue
            if self._closed or self._error is not None or holds(self.state):
                news.set_result(None)
            else:
                self._waiting.append((holds, news))


def _shown(event: Event) -> Event:
    return summarized(event) if isinstance(event, Condensation) else event
