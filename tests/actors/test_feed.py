"""The published side of a log: deltas, who gets which, and what becomes of them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.actors.feed import COALESCE, RECENT, Feed, Fresh
from agentrt.actors.veil import Veil
from agentrt.codec import encode
from agentrt.deltas import KEPT, Channel, Delta, Draft
from agentrt.errors import LogFailed
from agentrt.events import (
    Event,
    ExecutionLost,
    ExecutionStarted,
    InterruptEvent,
    ModelCalled,
    ModelCallStarted,
    RunRequested,
)
from agentrt.secrets import SecretRegistry
from agentrt.state import State, fold
from tests import samples

from .test_event_log import SlowJournal

pytestmark = pytest.mark.simulated

CALL = "call-1"


class Talk:
    """A conversation whose model call is under way, and its feed."""

    def __init__(self, veil: Veil | None = None) -> None:
        self.answer, self.action = samples.answer("Hello, you."), samples.action()
        begun = [*samples.beginning(), samples.message(), RunRequested(), ModelCallStarted(command=CALL)]
        self.feed = Feed(SlowJournal(), fold(samples.numbered(begun)), veil)

    @property
    def seq(self) -> int:
        return self.feed.state.seq

    def say(self, piece: str, channel: Channel = "text") -> None:
        """The model's next words."""
        self.feed.show(self.answer.id, channel, piece, CALL)

    def publish(self, *events: Event) -> list[Event]:
        batch = samples.numbered(events, self.seq + 1)
        self.feed.publish(batch, fold(batch, self.feed.state))
        return batch

    def end(self, *events: Event) -> list[Event]:
        """The model call has ended."""
        return self.publish(ModelCalled(command=CALL, model="m"), *events)

    def stream(self) -> AsyncIterator[Event | Delta]:
        return self.feed.stream(self.seq)


def growing() -> list[str]:
    """The ids of what all drafts in memory will be, whoever holds them."""
    gc.collect()
    return [found.becomes for found in gc.get_objects() if isinstance(found, Draft)]


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def given_at_once(stream: AsyncIterator[Event | Delta]) -> list[Event | Delta]:
    """What a stream gives without anything more happening; it is over then."""
    items: list[Event | Delta] = []
    while True:
        following = asyncio.ensure_future(anext(stream))
        await settle()
        if not following.done():
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            return items
        items.append(following.result())


async def collect(stream: AsyncIterator[Event | Delta], items: list[Event | Delta]) -> None:
    async for item in stream:
        items.append(item)


async def test_a_piece_says_its_event_its_offset_and_after_which_event_it_came() -> None:
    talk = Talk()
    stream, begun = talk.stream(), talk.seq
    talk.say("Hel")
    assert await anext(stream) == Delta(talk.answer.id, "text", "Hel", 0, begun)
    (message,) = talk.publish(samples.message("wait"))
    talk.say("lo")
    talk.say("Hm", "reasoning")
    assert await anext(stream) == message
    assert await anext(stream) == Delta(talk.answer.id, "text", "lo", 3, begun + 1)
    assert await anext(stream) == Delta(talk.answer.id, "reasoning", "Hm", 0, begun + 1)


async def test_a_secret_that_becomes_known_is_in_no_draft_for_those_who_come_late() -> None:
    registry = SecretRegistry({"OLD": "an-old-secret"})
    talk = Talk(Veil(registry))
    early = talk.stream()
    talk.say("a new-secret-value ")
    assert await anext(early) == Delta(talk.answer.id, "text", "a new-secret-value ", 0, talk.seq)
    registry.update({"NEW": "new-secret-value"})
    late = talk.stream()
    assert [item for item in await given_at_once(late) if cast(Delta, item).text] == []
    talk.say("and an-old-secret, new-secret-value.")
    hidden = Delta(talk.answer.id, "text", "and <secret-hidden>, <secret-hidden>.", 20, talk.seq)
    assert await anext(early) == hidden
    assert await given_at_once(talk.stream()) == [hidden]


async def test_a_slow_reader_gets_fewer_and_longer_pieces() -> None:
    talk = Talk()
    stream = talk.stream()
    pieces = []
    for number in range(100):
        talk.say(f"{number} ")
        if number % 25 == 0:
            piece = await anext(stream)
            assert isinstance(piece, Delta)
            pieces.append(piece)
    assert [len(piece.text.split()) for piece in pieces] == [1, 25, 25, 25]
    rest = await anext(stream)
    assert isinstance(rest, Delta)
    assert "".join(piece.text for piece in (*pieces, rest)) == "".join(f"{number} " for number in range(100))


async def test_who_comes_late_gets_the_draft_so_far_and_goes_on() -> None:
    talk = Talk()
    talk.say("Hel")
    talk.say("lo")
    stream = talk.stream()
    assert await anext(stream) == Delta(talk.answer.id, "text", "Hello", 0, talk.seq)
    talk.say(", you.")
    assert await anext(stream) == Delta(talk.answer.id, "text", ", you.", 5, talk.seq)


async def test_a_reader_that_is_too_far_behind_is_told_what_it_skipped() -> None:
    talk = Talk()
    stream = talk.stream()
    talk.say("begin")
    assert await anext(stream) == Delta(talk.answer.id, "text", "begin", 0, talk.seq)
    for _ in range(3):
        talk.say("x" * KEPT)
    assert await anext(stream) == Delta(talk.answer.id, "text", "x" * KEPT, 5 + 2 * KEPT, talk.seq)


async def test_events_come_before_what_was_shown_after_them() -> None:
    """Also to a reader that has not had them yet."""
    talk = Talk()
    behind = talk.seq
    for number in range(RECENT // 2):
        talk.publish(samples.message(str(number)))
    talk.say("Hello")
    stream = talk.feed.stream(behind)
    items = [await anext(stream) for _ in range(RECENT // 2 + 1)]
    assert [item.seq for item in items[:-1] if isinstance(item, Event)] == list(range(behind + 1, talk.seq + 1))
    assert items[-1] == Delta(talk.answer.id, "text", "Hello", 0, talk.seq)


async def test_nothing_is_given_of_what_its_event_has_replaced() -> None:
    talk = Talk()
    reads, begins = talk.stream(), talk.stream()
    talk.say("Hel")
    await anext(reads)
    talk.say("lo, ")
    talk.say("I think", "reasoning")
    batch = talk.end(talk.answer)
    assert growing() == []
    talk.say("you.")
    talk.feed.close()
    assert [item async for item in reads] == batch
    assert [item async for item in begins] == batch
    assert growing() == []


async def test_what_is_read_while_its_event_comes_is_not_given_after_it() -> None:
    """The reader has had one of two drafts when both of them end."""
    talk = Talk()
    stream = talk.stream()
    talk.say("Hello")
    talk.say("I think", "reasoning")
    await anext(stream)
    (called, answer) = talk.end(talk.answer)
    assert [await anext(stream), await anext(stream)] == [called, answer]
    assert await given_at_once(stream) == []


async def test_a_draft_ends_with_its_call_whatever_the_call_became() -> None:
    """An interrupted call that said nothing, one that failed, one whose text is in no event."""
    for outcome in ((), (samples.message("nudge"),), (InterruptEvent(),)):
        talk = Talk()
        talk.say("Hm", "reasoning")
        late = talk.stream()
        batch = talk.end(*outcome)
        assert growing() == []
        assert await given_at_once(late) == batch


async def test_what_is_dropped_is_not_given_and_may_begin_anew() -> None:
    talk = Talk()
    stream = talk.stream()
    talk.say("Hello, yo")
    await anext(stream)
    talk.say("u")
    talk.say("Hm", "reasoning")
    talk.feed.drop(talk.answer.id)
    assert growing() == []
    talk.feed.drop("another")
    talk.say("Bye")
    assert await given_at_once(stream) == [Delta(talk.answer.id, "text", "Bye", 0, talk.seq)]


async def test_output_ends_with_the_result_of_its_call_and_of_no_other() -> None:
    talk = Talk()
    one, two = samples.action(id="a1"), samples.action("look", id="a2")
    result = samples.observation(one)
    started = [ExecutionStarted(action_id=a.id, command=f"execute-{a.id}-1") for a in (one, two)]
    talk.end(one, two, *started)
    talk.feed.show(result.id, "output", "a.txt\n", "execute-a1-1")
    talk.feed.show("o2", "output", "look", "execute-a2-1")
    talk.feed.show("o3", "output", "void", "execute-a3-1")
    assert [item.becomes for item in await given_at_once(talk.stream()) if isinstance(item, Delta)] == [result.id, "o2"]
    talk.publish(result)
    assert growing() == ["o2"]
    talk.publish(samples.failure(two))
    assert growing() == []
    talk.feed.show("o2", "output", "too late", "execute-a2-1")
    assert growing() == []


async def test_output_ends_when_its_execution_is_lost() -> None:
    talk = Talk()
    talk.end(talk.action, ExecutionStarted(action_id=talk.action.id, command="e"))
    talk.feed.show("o", "output", "begun", "e")
    talk.publish(ExecutionLost(action_id=talk.action.id))
    assert growing() == []


async def test_a_failed_log_ends_a_stream_that_has_more_to_read() -> None:
    talk = Talk()
    stream = talk.stream()
    talk.say("Hel")
    await anext(stream)
    talk.say("lo")
    talk.feed.fail(LogFailed(Path("c"), OSError("no space")))
    with pytest.raises(LogFailed):
        await anext(stream)


async def test_who_wants_events_gets_no_deltas() -> None:
    talk = Talk()
    events = talk.feed.events(talk.seq)
    talk.say("Hello")
    batch = talk.end(talk.answer)
    talk.feed.close()
    assert [event async for event in events] == batch


class Clock:
    """The loop's time, which stands still until it is moved, and the timers that were set."""

    def __init__(self, loop: asyncio.AbstractEventLoop, patch: pytest.MonkeyPatch) -> None:
        self.now, self.timers = loop.time(), 0
        patch.setattr(loop, "time", lambda: self.now)
        call_later = loop.call_later

        def counted(delay: float, *args: Any, **kwargs: Any) -> asyncio.TimerHandle:
            self.timers += 1
            return call_later(delay, *args, **kwargs)

        patch.setattr(loop, "call_later", counted)

    async def advance(self, seconds: float) -> None:
        await settle()
        self.now += seconds
        await settle()


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(asyncio.get_running_loop(), monkeypatch)


def texts(items: list[Event | Delta]) -> list[str]:
    return [item.text if isinstance(item, Delta) else type(item).__name__ for item in items]


async def test_the_first_piece_is_given_at_once_and_the_next_together(clock: Clock) -> None:
    talk, items = Talk(), list[Event | Delta]()
    reading = asyncio.ensure_future(collect(talk.stream(), items))
    await settle()
    for piece in ("a", "b", "c"):
        talk.say(piece)
        await settle()
    assert texts(items) == ["a"]
    await clock.advance(COALESCE)
    assert texts(items) == ["a", "bc"]
    talk.say("d")
    await clock.advance(COALESCE / 2)
    talk.say("I think", "reasoning")  # something begins
    await settle()
    assert sorted(texts(items)[2:]) == ["I think", "d"]
    await clock.advance(COALESCE)
    talk.say("e")  # after a pause
    await settle()
    assert texts(items)[4:] == ["e"]
    talk.say("f")
    talk.end(talk.answer)
    await settle()
    assert texts(items)[5:] == ["ModelCalled", "MessageEvent"]
    talk.feed.close()
    await reading


async def test_all_that_many_read_takes_one_timer(clock: Clock) -> None:
    talk, many = Talk(), [list[Event | Delta]() for _ in range(20)]
    reading = [asyncio.ensure_future(collect(talk.stream(), items)) for items in many]
    await settle()
    for _ in range(10):
        for _ in range(50):
            talk.say("word ")
            await asyncio.sleep(0)
        await clock.advance(COALESCE)
    assert clock.timers <= 11
    assert {"".join(texts(items)) for items in many} == {"word " * 500}
    assert max(len(items) for items in many) <= 21
    talk.feed.close()
    await asyncio.gather(*reading)


async def test_no_timer_runs_when_nobody_reads(clock: Clock) -> None:
    talk = Talk()
    talk.say("a")
    follower = asyncio.ensure_future(anext(talk.feed.events(talk.seq)))
    await settle()
    talk.say("b")
    assert clock.timers == 0
    stream = talk.stream()
    await anext(stream)
    talk.say("c")
    assert clock.timers == 1
    await stream.aclose()  # type: ignore[attr-defined]
    talk.say("d")
    await clock.advance(10 * COALESCE)
    assert clock.timers == 1
    assert texts(await given_at_once(talk.stream())) == ["abcd"]
    talk.feed.close()
    with pytest.raises(StopAsyncIteration):
        await follower


async def test_readers_that_come_and_go_leave_nothing() -> None:
    talk = Talk()
    talk.say("a")
    for _ in range(100):
        await given_at_once(talk.stream())
    gc.collect()
    futures = [found for found in gc.get_objects() if isinstance(found, asyncio.Future) and found.cancelled()]
    assert len(futures) < 10


class Counts:
    """How often conditions were asked, and how often one was compared with another."""

    asked = compared = 0


class Condition:
    """A condition of the state that is counted."""

    def __init__(self, seq: int, counts: Counts) -> None:
        self._seq, self._counts = seq, counts

    def __call__(self, state: State) -> bool:
        self._counts.asked += 1
        return state.seq >= self._seq

    def __eq__(self, other: object) -> bool:
        self._counts.compared += 1
        return self is other

    __hash__ = None  # type: ignore[assignment]


async def test_one_of_many_is_woken_and_leaves_without_a_look_at_the_others() -> None:
    talk, many, counts = Talk(), 300, Counts()
    soon = [asyncio.ensure_future(talk.feed.wait_for(Condition(talk.seq + 1, counts))) for _ in range(many)]
    later = [asyncio.ensure_future(talk.feed.wait_for(Condition(talk.seq + 2, counts))) for _ in range(many)]
    await settle()
    talk.publish(samples.message())
    await settle()
    assert all(waiting.done() for waiting in soon)
    assert not any(waiting.done() for waiting in later)
    for waiting in later[: many // 2]:
        waiting.cancel()
    await settle()
    talk.publish(samples.message())
    await settle()
    assert [waiting.cancelled() for waiting in later] == [number < many // 2 for number in range(many)]
    assert {waiting.result().seq for waiting in later[many // 2 :]} == {talk.seq}
    assert counts.compared == 0
    assert counts.asked <= 6 * many, "when it begins to wait, at each batch while it does, and when it was woken"


async def test_who_leaves_as_it_is_woken_keeps_nobody_from_the_news() -> None:
    """Of those that wait for the same batch, every other one is cancelled before it runs again."""
    talk = Talk()
    reading = [
        (items := list[Event | Delta](), asyncio.ensure_future(collect(talk.stream(), items))) for _ in range(50)
    ]
    await settle()
    first = talk.publish(samples.message())
    for _, task in reading[::2]:
        task.cancel()
    await settle()
    second = talk.publish(samples.message())
    talk.feed.close()
    await asyncio.gather(*(task for _, task in reading), return_exceptions=True)
    assert all(items == first + second for items, _ in reading[1::2])
    assert all(items == [] for items, _ in reading[::2])


Act = tuple[str, int, str]
SOURCES: tuple[tuple[str, Channel], ...] = (("e1", "text"), ("e1", "reasoning"), ("o1", "output"))

acts = st.lists(
    st.one_of(
        st.tuples(st.just("show"), st.integers(0, 2), st.text(min_size=1, max_size=5)),
        st.tuples(st.just("read"), st.integers(0, 2), st.just("")),
        st.tuples(st.just("publish"), st.just(0), st.just("")),
    ),
    max_size=60,
)


@given(acts)
def test_pieces_placed_by_their_start_are_the_whole(script: list[Act]) -> None:
    """For any interleaving of shows, events and reads, by three readers that are as slow as they like."""
    asyncio.run(_play(script))


async def _play(script: list[Act]) -> None:
    talk = Talk()
    shown = dict.fromkeys(SOURCES, "")
    streams = [talk.stream() for _ in range(3)]
    placed: list[dict[tuple[str, Channel], str]] = [dict.fromkeys(SOURCES, "") for _ in streams]
    seqs = [talk.seq] * 3

    async def read(number: int) -> None:
        item = await anext(streams[number])
        if isinstance(item, Event):
            assert item.seq == seqs[number] + 1
            seqs[number] = item.seq
            return
        assert item.after <= seqs[number]
        so_far = placed[number]
        source = (item.becomes, item.channel)
        assert item.start == len(so_far[source])
        so_far[source] += item.text

    for act, number, piece in script:
        if act == "show":
            becomes, channel = SOURCES[number]
            talk.feed.show(becomes, channel, piece, CALL)
            shown[SOURCES[number]] += piece
        elif act == "publish":
            talk.publish(samples.message())
        elif placed[number] != shown or seqs[number] < talk.seq:
            await read(number)
        for so_far in placed:
            assert all(shown[source].startswith(so_far[source]) for source in SOURCES)
    for number in range(3):
        while placed[number] != shown or seqs[number] < talk.seq:
            await read(number)


async def test_what_is_published_while_the_file_is_read_does_not_shift_what_is_recent() -> None:
    """A rewound conversation is read anew, while a message comes in."""
    asked, may_answer = anyio.Event(), anyio.Event()
    written = samples.numbered([*samples.beginning(), *(samples.message(str(n)) for n in range(100))])

    class Reading(SlowJournal):
        async def load(self, seqs: Sequence[int]) -> list[Event]:
            asked.set()
            await may_answer.wait()
            return [written[seq - 1] for seq in seqs]

    feed = Feed(Reading(), fold(written[:2]))
    for event in written[2:]:
        feed.publish([event], fold([event], feed.state))
    view = samples.seen(written[2:])
    loaded: list[Event] = []

    async def load() -> None:
        loaded.extend(await feed.load(view))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(load)
        await asked.wait()
        late = samples.numbered([samples.message("late")], feed.state.seq + 1)
        feed.publish(late, fold(late, feed.state))
        may_answer.set()
    assert loaded == written[2:]


async def test_who_waits_for_more_than_the_state_looks_again_when_told() -> None:
    published, left = Feed(SlowJournal(), State()), False
    waiting = asyncio.ensure_future(published.wait_for(lambda state: left))
    await settle()
    published.look_again()
    await settle()
    assert not waiting.done()
    left = True
    await settle()
    assert not waiting.done(), "nobody has told it"
    published.look_again()
    assert await waiting is published.state


async def test_who_passes_events_on_gets_their_bytes_once_and_nobody_keeps_them() -> None:
    talk, fresh = Talk(), Fresh()
    stream = cast(AsyncGenerator[Event | Delta], talk.feed.stream(talk.seq, fresh=fresh))
    reading = asyncio.ensure_future(anext(stream))
    await settle()

    def publish(number: int) -> tuple[list[Event], list[bytes]]:
        batch = samples.numbered([samples.message() for _ in range(number)], talk.seq + 1)
        encoded = [encode(event) for event in batch]
        talk.feed.publish(batch, fold(batch, talk.feed.state), encoded)
        return batch, encoded

    (event, other), encoded = publish(2)
    assert await reading == event
    assert fresh.take(event.seq) is encoded[0], "it is the one that was written, not a copy"
    assert (fresh.take(event.seq), fresh.take(other.seq)) == (None, encoded[1])
    behind = [event.seq for _ in range(RECENT + 1) for event in publish(1)[0]]
    assert sum(fresh.take(seq) is not None for seq in behind) == 1, "who is too far behind reads the file"
    publish(2 * RECENT)
    await stream.aclose()
    late, _ = publish(1)
    assert fresh.take(late[0].seq) is None, "who has left gets none"
