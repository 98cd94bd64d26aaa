"""A relay and its followers: each event once and in order, whatever is slow, and deltas that fit between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt import Conversation
from agentrt.codec import Line, encode
from agentrt.deltas import Delta
from agentrt.errors import ConversationMissing, LogCorrupt, LogFailed
from agentrt.events import Cursor, Event, MessageEvent
from agentrt.server.streams.encoding import Piece
from agentrt.server.streams.follower import Follower
from agentrt.server.streams.relay import CLOSED, Relay
from agentrt.specs.content import text
from agentrt.state import State

pytestmark = pytest.mark.simulated


class Talk:
    """A conversation in memory, as a relay reads it."""

    def __init__(self, events: int = 0) -> None:
        self.id, self.epoch, self.log = "c", 0, list[Event]()
        self.items: asyncio.Queue[Event | Delta | Exception | None] = asyncio.Queue()
        self.pages = 0
        for _ in range(events):
            self.add(10)

    @property
    def state(self) -> State:
        return State(seq=len(self.log), epoch=self.epoch)

    async def lines(self, after: Cursor) -> AsyncIterator[Line | Delta]:
        while (item := await self.items.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item if isinstance(item, Delta) else Line(item.seq, item.id, encode(item))

    async def page_json(self, after: Cursor, limit: int) -> Sequence[bytes]:
        self.pages += 1
        await asyncio.sleep(0)
        return [encode(event) for event in self.log[after.seq : after.seq + limit]]

    def say(self, size: int, id: str = "") -> None:
        """Log an event."""
        self.items.put_nowait(self.add(size, id))

    def grow(self, becomes: str, piece: str, start: int) -> None:
        """Show a delta."""
        self.items.put_nowait(Delta(becomes, "text", piece, start, len(self.log)))

    def add(self, size: int, id: str = "") -> Event:
        seq = len(self.log) + 1
        self.log.append(MessageEvent(seq=seq, id=id or f"e{seq}", source="user", content=text("x" * size)))
        return self.log[-1]


def relay_of(talk: Talk, recent: int = 4096) -> Relay:
    return Relay(cast(Conversation, talk), recent)


@asynccontextmanager
async def read(talk: Talk) -> AsyncIterator[Relay]:
    """A relay that reads meanwhile."""
    relay = relay_of(talk)
    reading = asyncio.ensure_future(relay.run(reopened))
    yield relay
    relay.scope.cancel()
    await reading


async def reopened(name: str) -> Any:
    raise ConversationMissing(name)


def ignore(follower: Follower) -> None:
    """Nothing to wake."""


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def everything(follower: Follower, limit: int = 1000) -> list[Piece]:
    pieces = list[Piece]()
    while more := await follower.take(limit):
        pieces += more
        if follower.problem is not None:
            break
    return pieces


def events_in(pieces: Sequence[Piece]) -> list[bytes]:
    return [piece.data for piece in pieces if piece.kind == "event"]


def kinds(pieces: Sequence[Piece]) -> list[str]:
    return [piece.kind for piece in pieces]


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 3000)),
        st.tuples(st.just("grow"), st.integers(1, 50)),
        st.tuples(st.just("take"), st.integers(1, 5000)),
        st.tuples(st.just("run"), st.integers(1, 3)),
    ),
    max_size=60,
)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 8000), OPERATIONS)
def test_each_event_comes_once_and_in_order(
    before: int, after: int, recent: int, operations: list[tuple[str, int]]
) -> None:
    async def live() -> None:
        talk = Talk(before)
        relay = relay_of(talk, recent)
        reading = asyncio.ensure_future(relay.run(reopened))
        follower = relay.join(min(after, before), ignore, deltas=True)
        got, grown = list[Piece](), 0
        for what, size in operations:
            if what == "say":
                talk.say(size, id=f"growing{len(talk.log) + 1}" if grown else "")
                grown = 0
            elif what == "grow":
                talk.grow(f"growing{len(talk.log) + 1}", "y" * size, grown)
                grown += size
            elif what == "take":
                got += await follower.take(size)
            for _ in range(size if what == "run" else 0):
                await asyncio.sleep(0)
        await settle()
        got += await everything(follower)
        assert events_in(got) == [encode(event) for event in talk.log[min(after, before) :]]
        check_deltas(got)
        assert "live" in kinds(got)
        relay.scope.cancel()
        await reading

    asyncio.run(live())


def check_deltas(pieces: Sequence[Piece]) -> None:
    """None comes after the event that it became, or before one that it was shown after."""
    seen, seq = set[str](), 0
    for piece in pieces:
        if piece.kind == "event":
            event = msgspec.json.decode(piece.data)
            seen.add(event["id"])
            seq = event["seq"]
        elif piece.kind == "delta":
            delta = msgspec.json.decode(piece.data, type=Delta)
            assert delta.becomes not in seen
            assert delta.after <= seq or seq == 0


async def test_who_is_behind_reads_the_file_and_who_is_not_does_not() -> None:
    talk = Talk(300)
    async with read(talk) as relay:
        slow, fast = relay.join(0, ignore, deltas=True), relay.join(300, ignore, deltas=True)
        talk.say(10)
        await settle()
        assert kinds(await everything(fast)) == ["event", "live"]
        assert talk.pages == 0
        pieces = await slow.take(2000)
        assert 1 < len(pieces) < 32
        assert sum(piece.size for piece in pieces) <= 2000
        pieces += await everything(slow)
        assert kinds(pieces) == ["event"] * 301 + ["live"]


async def test_followers_share_what_is_encoded() -> None:
    talk = Talk()
    async with read(talk) as relay:
        followers = [relay.join(0, ignore, deltas=True) for _ in range(3)]
        talk.say(10)
        talk.grow("e2", "Hello", 0)
        await settle()
        taken = [await everything(follower) for follower in followers]
        assert taken[0] == taken[1] == taken[2]
        assert kinds(taken[0]) == ["event", "live", "delta"]
        assert all(pieces[0] is taken[0][0] and pieces[2] is taken[0][2] for pieces in taken)
        assert len({id(relay.message(pieces)) for pieces in taken}) == 1
        assert relay.message(taken[0][:1]) != relay.message(taken[0])


async def test_what_became_durable_together_is_told_once() -> None:
    talk, told = Talk(), list[Follower]()
    async with read(talk) as relay:
        follower = relay.join(0, told.append, deltas=True)
        told.clear()
        for _ in range(3):
            talk.say(10)
        await settle()
        assert told == [follower]
        assert kinds(await everything(follower)) == ["event"] * 3 + ["live"]


async def test_what_is_logged_while_it_falls_asleep_is_told() -> None:
    """Its state is already that of one that sleeps, and the last events come after."""
    talk, told = Talk(), list[Follower]()
    async with read(talk) as relay:
        follower = relay.join(0, told.append, deltas=True)
        told.clear()
        talk.say(10)
        talk.log.clear()
        await settle()
        assert told == [follower]


async def test_one_who_leaves_when_he_is_told_holds_up_nobody() -> None:
    talk, told = Talk(), list[Follower]()
    async with read(talk) as relay:
        leaving = relay.join(0, relay.leave, deltas=True)
        follower = relay.join(0, told.append, deltas=True)
        relay.followers = {leaving: None, follower: None}
        talk.say(10)
        await settle()
        assert list(relay.followers) == [follower]
        assert told == [follower, follower]


async def test_a_late_one_gets_what_grows_from_its_beginning_and_a_slow_one_fewer_pieces() -> None:
    talk, told = Talk(1), list[Follower]()
    async with read(talk) as relay:
        slow = relay.join(1, ignore, deltas=True)
        deaf = relay.join(1, told.append, deltas=False)
        await everything(slow)
        talk.grow("e2", "Hel", 0)
        talk.grow("e2", "lo", 3)
        await settle()
        late = relay.join(1, ignore, deltas=True)
        for follower in (slow, late):
            (delta,) = [piece for piece in await everything(follower) if piece.kind == "delta"]
            assert msgspec.json.decode(delta.data)["text"] == "Hello"
        assert told == [deaf]  # when it joined
        talk.say(1, id="e2")
        await settle()
        assert kinds(await everything(relay.join(1, ignore, deltas=True))) == ["event", "live"]
        assert not relay.join(2, ignore, deltas=True).places


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LogFailed(cast(Any, "x"), OSError(5, "no")), "log-failed"),
        (RuntimeError("a bug"), "internal"),
        (None, "conversation-missing"),
    ],
)
async def test_followers_get_what_was_logged_and_then_why_it_ended(error: Exception | None, code: str) -> None:
    talk, told = Talk(), list[Follower]()
    relay = relay_of(talk)
    follower = relay.join(0, told.append, deltas=True)
    talk.say(5)
    talk.items.put_nowait(error)
    await relay.run(reopened)
    assert kinds(await follower.take(100_000)) == ["event", "live", "ended"]
    assert follower.problem is not None
    assert follower.problem.code == code
    assert len(told) == 3


async def test_one_that_comes_back_is_read_on() -> None:
    talk, again = Talk(), Talk()
    relay = relay_of(talk)
    follower = relay.join(0, ignore, deltas=True)
    talk.say(5)
    talk.items.put_nowait(None)
    again.add(5)
    again.say(6)
    again.items.put_nowait(None)

    async def reopen(name: str) -> Conversation:
        return cast(Conversation, again)

    await relay.run(reopen)
    assert events_in(await everything(follower, 100_000)) == [encode(talk.log[0]), encode(again.log[1])]
    assert follower.problem == CLOSED


async def test_a_new_epoch_is_told() -> None:
    talk = Talk(1)
    async with read(talk) as relay:
        follower = relay.join(1, ignore, deltas=True)
        assert kinds(await everything(follower)) == ["live"]
        talk.epoch = 1
        talk.say(1)
        await settle()
        event, live = await everything(follower)
        assert event.kind == "event"
        assert msgspec.json.decode(live.data, type=Cursor) == Cursor(1, 2)


async def test_a_file_that_cannot_be_read_ends_the_one_who_reads_it() -> None:
    class Damaged(Talk):
        async def page_json(self, after: Cursor, limit: int) -> Sequence[bytes]:
            raise LogCorrupt(cast(Any, "x"), 1, "damaged")

    follower = relay_of(Damaged(3)).join(0, ignore, deltas=True)
    assert kinds(await follower.take(1000)) == ["ended"]
    assert follower.problem is not None
    assert follower.problem.code == "log-corrupt"
