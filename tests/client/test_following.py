"""Following a conversation over a socket that is cut, that repeats, leaves out, falls silent, or is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
import pytest
from aiohttp import web

from agentrt.client import RemoteEnd
from agentrt.deltas import Delta
from agentrt.errors import (
    AgentrtError,
    ConversationMissing,
    CursorExpired,
    NotAllowed,
    NotAuthenticated,
    RequestRefused,
    ServerUnreachable,
)
from agentrt.events import Event, ModelCalled, ModelCallStarted, RunRequested
from agentrt.frames import Alive, Ended, Heartbeat, Problem
from agentrt.state import fold
from tests import samples

from .peer import NAME, Peer, Talk, framed, grown, live, peer

pytestmark = pytest.mark.real


@asynccontextmanager
async def following(there: Peer, **fields: float) -> AsyncIterator[RemoteEnd]:
    end = RemoteEnd(there.place(**fields), name=NAME)
    await end.enter()
    try:
        yield end
    finally:
        await end.close()


async def taken(end: RemoteEnd, upto: int) -> list[Event]:
    """The events up to a seq, when they have come."""
    with anyio.fail_after(30):
        if end.state.seq < upto:
            async for _ in end.stream(end.state.seq):
                if end.state.seq >= upto:
                    break
        return [event async for event in end.events(0)]


async def test_its_state_is_the_fold_of_what_came() -> None:
    async with peer() as there, following(there) as end:
        there.append(samples.message(), RunRequested())
        assert await taken(end, len(there.events)) == there.events
        assert end.state == fold(there.events)
        assert there.follows == [(0, 0)]


async def test_after_a_cut_it_goes_on_from_its_cursor() -> None:
    async def cut(talk: Talk) -> None:
        await talk.send(*framed(there.events[talk.after : talk.after + 1]))
        talk.cut()

    async with peer() as there:
        there.sockets = [cut, cut, lambda talk: talk.close(1001), lambda talk: talk.close(1013)]
        async with following(there) as end:
            assert await taken(end, len(there.events)) == there.events
        assert there.follows == [(seq, 0) for seq in (0, 1, 2, 2, 2)]


async def test_what_comes_twice_counts_once() -> None:
    async def twice(talk: Talk) -> None:
        await talk.send(*framed(there.events), *framed(there.events), live(len(there.events)))
        await talk.send(*framed(there.events[1:]))
        await there.follow(talk)

    async with peer() as there:
        there.sockets = [twice]
        async with following(there) as end:
            there.append(samples.message())
            assert await taken(end, len(there.events)) == there.events


async def test_what_is_left_out_is_asked_for_again() -> None:
    async def gap(talk: Talk) -> None:
        await talk.send(*framed(there.events[:1]), *framed(there.events[2:]))
        await talk.socket.receive()

    async with peer() as there:
        there.append(samples.message())
        there.sockets = [gap]
        async with following(there) as end:
            assert await taken(end, len(there.events)) == there.events
        assert there.follows[0] == (0, 0)
        assert there.follows[1][0] < len(there.events)


async def test_a_silent_socket_is_given_up_and_a_heartbeat_is_answered() -> None:
    said: list[object] = []

    async def silent(talk: Talk) -> None:
        await talk.send(Heartbeat())
        said.extend(await talk.receive())
        await talk.socket.receive()

    async with peer() as there:
        there.sockets = [silent]
        async with following(there, timeout=0.3) as end:
            assert await taken(end, len(there.events)) == there.events
    assert said == [Alive()]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (4001, NotAuthenticated),
        (4003, NotAllowed),
        (4004, ConversationMissing),
        (4009, RequestRefused),
        (4010, CursorExpired),
    ],
)
async def test_what_trying_again_cannot_mend_is_raised(code: int, error: type[AgentrtError]) -> None:
    async with peer() as there:
        there.sockets = [lambda talk: talk.close(code, "so it is")]
        with pytest.raises(error):
            async with following(there):
                pass
        assert len(there.follows) == 1


async def test_those_who_follow_are_told_what_ended_it_and_have_what_came_before() -> None:
    async def ends(talk: Talk) -> None:
        await talk.send(*framed(there.events), live(len(there.events)))
        await heard.wait()
        gone = Problem(title="Conversation missing", status=404, code="conversation-missing")
        await talk.send(*framed(there.events[2:]), Ended(conversation=NAME, problem=gone))
        await talk.close(4004)

    heard, seen = anyio.Event(), list[object]()
    async with peer() as there:
        there.sockets = [ends]
        async with following(there) as end:
            there.append(samples.message())
            with pytest.raises(ConversationMissing):
                async for item in end.stream(0):
                    seen.append(item)
                    heard.set()
    assert seen == there.events


async def test_a_log_that_is_another_than_it_was_is_not_gone_on_with() -> None:
    async def shorter(talk: Talk) -> None:
        await talk.send(live(1, epoch=1))
        await talk.socket.receive()

    async def cut(talk: Talk) -> None:
        await talk.send(*framed(there.events), live(len(there.events)))

    async with peer() as there:
        there.sockets = [cut, shorter]
        async with following(there) as end:
            with pytest.raises(CursorExpired):
                async for _ in end.stream(0):
                    pass


async def test_without_a_server_those_who_follow_are_told_in_the_end() -> None:
    async with peer() as there:
        there.sockets = [there.follow, *[lambda talk: talk.close(1001)] * 100]
        async with following(there, give_up=0.2, timeout=0.1) as end:
            with pytest.raises(ServerUnreachable):
                async for _ in end.stream(0):
                    pass


async def test_deltas_are_published_and_void_once_their_event_is_there() -> None:
    answer = samples.answer("Hello, you.")

    async def grows(talk: Talk) -> None:
        await talk.send(*framed(there.events), live(len(there.events)))
        seq = len(there.events)
        await talk.send(grown(Delta(answer.id, "text", "Hel", 0, seq)))
        await talk.send(grown(Delta(answer.id, "text", "lo", 3, seq)))
        await shown.wait()
        talk.cut()

    async def again(talk: Talk) -> None:
        await talk.send(live(len(there.events)), grown(Delta(answer.id, "text", "Hello, you", 0, len(there.events))))
        await whole.wait()
        there.append(ModelCalled(command="c", model="m"), answer)
        await there.follow(talk)

    shown, whole, text = anyio.Event(), anyio.Event(), ""
    async with peer() as there:
        there.append(samples.message(), RunRequested(), ModelCallStarted(command="c"))
        there.sockets = [grows, again]
        async with following(there) as end, aclosing(end.stream(0)) as stream:  # type: ignore[type-var]
            async for item in stream:
                if isinstance(item, Delta):
                    text = text[: item.start] + item.text
                    if text == "Hello":
                        shown.set()
                    if text == "Hello, you":
                        whole.set()
                elif item.id == answer.id:
                    break
            async with aclosing(end.stream(end.state.seq)) as late:  # type: ignore[type-var]
                first = asyncio.ensure_future(anext(late))
                await anyio.wait_all_tasks_blocked()
                there.append(samples.message())
                assert await first == there.events[-1], "no delta came before it"
    assert text == "Hello, you"


async def test_what_is_no_event_is_said() -> None:
    async def garbage(talk: Talk) -> None:
        await talk.socket.send_str("[{}]")
        await talk.socket.receive()

    async with peer() as there:
        there.sockets = [garbage]
        with pytest.raises(RequestRefused, match="not understood"):
            async with following(there):
                pass


async def test_the_key_is_sent_and_never_shown() -> None:
    async with peer() as there:
        there.answers = lambda method, path, body: web.Response(status=401)
        place = there.place()
        keyed = type(place)(place.url, "the-key", timeout=1.0)
        with pytest.raises(NotAuthenticated) as caught:
            await RemoteEnd(keyed, name=NAME).enter()
        assert there.keys == ["Bearer the-key"]
    assert "the-key" not in f"{keyed} {keyed!r} {caught.value!r}"
