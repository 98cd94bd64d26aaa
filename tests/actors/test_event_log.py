"""The arbiter: what it decides while batches are on their way to the disk."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentrt.actors.event_log import Append, EventLogActor, Interrupt
from agentrt.actors.feed import Feed
from agentrt.codec import encode
from agentrt.decisions import CallModel, Command
from agentrt.errors import ActorCrashed, ActorStopped, LogFailed, NoLongerDue
from agentrt.events import Event, ModelCalled, RunRequested
from agentrt.protocols import Committed
from agentrt.specs import BlobReference
from agentrt.state import State, fold
from tests import samples

pytestmark = pytest.mark.simulated


class SlowJournal:
    """A journal whose disk acknowledges when it is told to."""

    size = 0

    def __init__(self) -> None:
        self.written: deque[tuple[list[int], Committed]] = deque()

    def append(self, events: Sequence[Event], then: Committed) -> Sequence[bytes]:
        self.written.append(([event.seq for event in events], then))
        return [encode(event) for event in events]

    def remember(self, state: State) -> None:
        pass

    def reply(self, error: LogFailed | None = None) -> None:
        self.written.popleft()[1](error)

    def read(self, after: int, upto: int) -> AsyncIterator[Event]:
        raise NotImplementedError

    async def load(self, seqs: Sequence[int]) -> list[Event]:
        raise NotImplementedError

    async def sync(self) -> None:
        raise NotImplementedError

    async def keep(self, data: bytes, name: str, media_type: str = "") -> BlobReference:
        raise NotImplementedError

    async def fetch(self, blob: BlobReference) -> bytes:
        raise NotImplementedError


class Bench:
    """A log actor of a conversation that has begun, and what it did."""

    def __init__(self) -> None:
        self.journal = SlowJournal()
        self.feed = Feed(self.journal, fold(samples.numbered(samples.beginning())))
        self.begun, self.handed, self.cuts = self.feed.state.seq, list[Command](), 0
        self.actor = EventLogActor(self.journal, self.feed, self.handed.extend, self._cut)

    def _cut(self, goes_on: bool) -> None:
        self.cuts += 1

    def ask(self, *events: Event, command: str | None = None) -> asyncio.Task[object]:
        return asyncio.ensure_future(self.actor.ask(Append(events, command)))


def called(command: Command) -> ModelCalled:
    return ModelCalled(command=command.id, model="scripted")


async def running() -> Bench:
    """A bench whose model call is under way."""
    bench = Bench()
    asked = bench.ask(samples.message("go")), bench.ask(RunRequested())
    await wait_all_tasks_blocked()
    while bench.journal.written:
        bench.journal.reply()
    await asyncio.gather(*asked)
    return bench


async def test_nothing_is_seen_or_handed_out_before_it_is_durable() -> None:
    bench = Bench()
    message, run = bench.ask(samples.message("go")), bench.ask(RunRequested())
    await wait_all_tasks_blocked()
    assert [seqs for seqs, _ in bench.journal.written] == [[bench.begun + 1], [bench.begun + 2, bench.begun + 3]]
    assert (bench.feed.state.seq, bench.handed) == (bench.begun, [])
    bench.journal.reply()
    await message
    assert (bench.feed.state.seq, bench.handed) == (bench.begun + 1, [])
    bench.journal.reply()
    await run
    assert [type(command) for command in bench.handed] == [CallModel]


async def test_what_is_on_its_way_counts_already() -> None:
    """Two outcomes of one command, the first of them not durable yet."""
    bench = await running()
    (call,) = bench.handed
    first = bench.ask(called(call), samples.answer("one"), command=call.id)
    await wait_all_tasks_blocked()
    with pytest.raises(NoLongerDue):
        await bench.actor.ask(Append((called(call), samples.answer("two")), call.id))
    bench.journal.reply()
    await first


async def test_an_interrupt_cuts_once_it_is_durable() -> None:
    bench = await running()
    interrupt = asyncio.ensure_future(bench.actor.ask(Interrupt("enough")))
    await wait_all_tasks_blocked()
    assert bench.cuts == 0
    bench.journal.reply()
    await interrupt
    assert bench.cuts == 1


async def test_a_repeated_message_is_acknowledged_when_the_first_is_durable() -> None:
    bench = Bench()
    message = samples.message("go")
    first, again = bench.ask(message), bench.ask(message)
    await wait_all_tasks_blocked()
    assert not again.done()
    bench.journal.reply()
    bench.journal.reply()
    assert await first == await again
    assert await bench.ask(message) == await first, "nothing is written for it later"
    assert not bench.journal.written


async def test_a_cancelled_ask_waits_for_its_commit() -> None:
    bench = Bench()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.actor.ask, Append((samples.message("go"),)))
            await wait_all_tasks_blocked()
            scope.cancel()
            asyncio.get_running_loop().call_later(0, bench.journal.reply)
    assert bench.feed.state.seq == bench.begun + 1


async def test_after_a_failure_nothing_more_is_acknowledged() -> None:
    bench = Bench()
    first, second = bench.ask(samples.message("one")), bench.ask(samples.message("two"))
    await wait_all_tasks_blocked()
    failure = LogFailed(Path("events.jsonl"), OSError(5, "Input/output error"))
    for ask in (first, second):
        bench.journal.reply(failure)
        with pytest.raises(LogFailed):
            await ask
    with pytest.raises(LogFailed):
        await bench.actor.ask(Append((samples.message("three"),)))
    with pytest.raises(LogFailed):
        await bench.feed.wait_for(lambda state: False)
    assert (bench.cuts, bench.feed.state.seq, len(bench.journal.written)) == (1, bench.begun, 0)


async def test_a_bug_ends_the_log_and_tells_everyone() -> None:
    bench = Bench()

    def fail(commands: Sequence[Command]) -> None:
        raise ZeroDivisionError("a bug")

    bench.actor = EventLogActor(bench.journal, bench.feed, fail, lambda goes_on: None)
    asked = bench.ask(samples.message("go"))
    await wait_all_tasks_blocked()
    bench.journal.reply()
    with pytest.raises(ActorCrashed, match="a bug"):
        await asked
    with pytest.raises(ActorCrashed):
        await bench.actor.ask(Append((samples.message("more"),)))
    with pytest.raises(ActorCrashed):
        await bench.feed.wait_for(lambda state: False)


async def test_a_closed_log_takes_nothing() -> None:
    bench = Bench()
    bench.actor.close()
    with pytest.raises(ActorStopped):
        await bench.actor.ask(Append((samples.message("go"),)))
