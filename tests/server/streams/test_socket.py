"""Sockets of a real server: what they follow, what they are asked to do, and how they end."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import anyio
import msgspec
import pytest
from starlette.requests import HTTPConnection

from agentrt.context.replies import ModelReply
from agentrt.controls import Answer, AskAgent, Confirm, Interrupt, Pause, SendMessage, StartRun
from agentrt.deltas import Delta
from agentrt.events import Cursor
from agentrt.frames import Ack, Alive, Ended, Follow, FromServer, Heartbeat, Live, Refused, Unfollow
from agentrt.protocols import ModelRequest, Watch
from agentrt.server.principals import EVERYONE, Principal, Scope
from agentrt.server.problems import refusal
from agentrt.specs import Durability
from agentrt.testing import ScriptedLLM, finish, say
from tests.proofs.waiting import eventually
from tests.server.served import Client, served

from .following import Following, Talking, begun, cursor_after, following, is_delta, is_live, log_of, settings

pytestmark = pytest.mark.real


def events_path(name: str, query: str = "") -> str:
    return f"/conversations/{name}/events{query}"


async def finished(client: Client, name: str) -> None:
    with anyio.fail_after(20):
        while (await client.ask("GET", f"/conversations/{name}"))[1]["status"] != "finished":
            await anyio.lowlevel.checkpoint()


async def test_replay_then_live_without_a_gap_or_a_duplicate(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("One."), finish("Two.")])) as client:
        name = await begun(client, "Begin")
        await finished(client, name)
        async with following(client, events_path(name)) as early, following(client, events_path(name)) as other:
            live = await early.until_of(Live)
            await other.until_of(Live)
            assert live.cursor.seq == len(early.events[name])
            await early.do(name, SendMessage(content="Again", run=True))
            for socket in (early, other):
                assert (await socket.until_event("ObservationEvent"))["tool_name"] == "finish"
        async with following(client, events_path(name, f"?after={live.cursor.seq}&epoch={live.cursor.epoch}")) as late:
            await late.until_of(Live)
    log = log_of(tmp_path, name)
    assert early.events[name][: len(log)] == log
    assert other.events == early.events
    assert late.events[name] == log[live.cursor.seq :]


async def test_a_long_history_comes_in_few_messages(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = await begun(client)
        conversation = await client.services.hosting.get(name, EVERYONE)
        async with anyio.create_task_group() as tasks:
            for number in range(300):
                tasks.start_soon(conversation.send_message, f"{number} " + "x" * 200)
        async with following(client, events_path(name)) as socket:
            await socket.until_of(Live)
    assert socket.events[name] == log_of(tmp_path, name)
    assert socket.messages < 20


async def test_deltas_come_marked_and_only_to_who_wants_them(tmp_path: Path) -> None:
    model = Talking("Hello, ", "you.")
    async with served(tmp_path, model) as client:
        name = await begun(client)
        async with (
            following(client, events_path(name)) as socket,
            following(client, events_path(name, "?deltas=0")) as deaf,
        ):
            await socket.do(name, SendMessage(content="Speak", run=True))
            said = ""
            while said != "Hello, you.":
                frame = await socket.until(is_delta)
                delta = msgspec.json.decode(frame.delta, type=Delta)  # type: ignore[union-attr]
                said = said[: delta.start] + delta.text
            async with following(client, events_path(name)) as late:
                frame = await late.until(is_delta)
                assert msgspec.json.decode(frame.delta, type=Delta).text == said  # type: ignore[union-attr]
            model.go_on.set()
            heard = list[FromServer]()
            while not any(b"Hello, you." in event for event in deaf.events.get(name, [])):
                assert await deaf.more()
                heard += deaf.frames
            assert not any(is_delta(frame) for frame in heard)


async def test_several_conversations_on_one_socket(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM(lambda request: finish("Done."))) as client:
        one, two = await begun(client), await begun(client)
        async with following(client, "/events") as socket:
            await socket.tell(Follow(conversation=one), Follow(conversation=two, after=cursor_after(2)))
            for _ in range(2):
                await socket.until_of(Live)
            await socket.do(two, SendMessage(content="Go", run=True))
            await socket.until_event("ObservationEvent")
            await socket.tell(Unfollow(conversation=two))
            await socket.do(two, SendMessage(content="Go on", run=True), id="2")
            await socket.until(lambda frame: isinstance(frame, Ack) and frame.id == "2")
            await socket.do(one, SendMessage(content="Go", run=True), id="3")
            await socket.until_event("ObservationEvent")
            await finished(client, two)
        assert socket.events[one] == log_of(tmp_path, one)[: len(socket.events[one])]
        seen = socket.events[two]
        assert seen == log_of(tmp_path, two)[2 : 2 + len(seen)]
        assert len(log_of(tmp_path, two)) > 2 + len(seen)


async def test_controls_are_in_order_and_answered_under_their_ids(tmp_path: Path) -> None:
    model = Talking("Hm")
    async with served(tmp_path, model) as client:
        name = await begun(client)
        async with following(client, "/events") as socket:
            for number in range(20):
                await socket.do(name, SendMessage(content=f"{number}"), id=f"m{number}")
            await socket.do(name, StartRun(), id="run")
            await socket.do(name, Interrupt(reason="enough"), id="cut")
            await socket.do(name, Confirm(), id="nothing")
            acks = [(await socket.until_of(Ack)) for _ in range(23)]
        assert [ack.id for ack in acks] == [*(f"m{number}" for number in range(20)), "run", "cut", "nothing"]
        cursors = [msgspec.json.decode(ack.reply, type=Cursor) for ack in acks]
        assert cursors == sorted(cursors)
        said = [event for event in log_of(tmp_path, name) if b'"source":"user"' in event and b'"MessageEvent"' in event]
        assert [msgspec.json.decode(event)["content"][0]["text"] for event in said] == [str(n) for n in range(20)]


async def test_a_question_holds_up_nothing(tmp_path: Path) -> None:
    gate = anyio.Event()

    class Slow(ScriptedLLM):
        async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
            await gate.wait()
            return say("Forty-two.")

    async with served(tmp_path, Slow([])) as client:
        name = await begun(client)
        async with following(client, "/events") as socket:
            await socket.do(name, AskAgent(question="What?"), id="ask")
            await socket.do(name, Pause(), id="pause")
            assert (await socket.until_of(Ack)).id == "pause"
            gate.set()
            answer = await socket.until_of(Ack)
            assert (answer.id, msgspec.json.decode(answer.reply, type=Answer)) == ("ask", Answer("Forty-two."))


async def test_what_cannot_be_is_refused_with_its_problem(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = await begun(client)
        async with following(client, "/events") as socket:
            await socket.do("nobody", Pause(), id="1")
            await socket.socket.send_str('[{"type":"do","id":"2","conversation":"x","control":{"type":"dance"}}]')
            await socket.tell(Follow(conversation="nobody"), Follow(conversation=name, after=cursor_after(99)))
            refused = {frame.id: frame.problem.code for frame in [await socket.until_of(Refused) for _ in range(2)]}
            assert refused == {"1": "conversation-missing", "2": "frame"}
    async with served(tmp_path, ScriptedLLM([])) as client, following(client, "/events") as socket:
        await socket.tell(Follow(conversation="nobody"))
        assert (await socket.until_of(Ended)).problem.code == "conversation-missing"
        await socket.tell(Follow(conversation=name, after=Cursor(5, 1)))
        assert (await socket.until_of(Ended)).problem.code == "cursor-expired"
        await socket.tell(Follow(conversation=name))
        await socket.until(is_live)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/conversations/nobody/events", 4004),
        ("/conversations/NAME/events?after=99", 4010),
        ("/conversations/NAME/events?after=1&epoch=7", 4010),
        ("/conversations/NAME/events?after=7-1", 4010),
        ("/conversations/NAME/events?after=x", 4009),
    ],
)
async def test_a_socket_for_what_cannot_be_followed_is_closed_with_a_code(tmp_path: Path, path: str, code: int) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = await begun(client)
        async with following(client, path.replace("NAME", name)) as socket:
            found, reason = await socket.closed()
        assert found == code
        assert reason


async def test_garbage_is_refused_and_then_ends_the_socket(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        async with following(client, "/events") as socket:
            for _ in range(5):
                await socket.socket.send_bytes(b"\xff\x00garbage")
                await socket.until_of(Refused)
            await socket.tell(Alive())
            for _ in range(9):
                await socket.socket.send_str("[1, 2")
                await socket.until_of(Refused)
            await socket.socket.send_str('{"type":"alive"}')
            code, reason = await socket.closed()
        assert (code, reason[:8]) == (4009, "garbage:")


async def test_who_may_not_is_told_by_a_code(tmp_path: Path) -> None:
    async def authenticate(connection: HTTPConnection) -> Principal:
        match connection.query_params.get("as"):
            case "observer":
                return Principal("ann", frozenset({Scope.OBSERVE}))
            case "steerer":
                return Principal("ann", frozenset({Scope.STEER}))
            case "other":
                return Principal("bob", frozenset({Scope.OBSERVE}))
            case None:
                return Principal("ann", frozenset(Scope) - {Scope.ADMIN})
        raise refusal(401, "Not authenticated", "give a key", "unauthenticated")

    async with served(tmp_path, ScriptedLLM([]), authenticate=authenticate) as client:
        name = await begun(client)
        for who, code in (("nobody", 4001), ("steerer", 4003), ("other", 4004)):
            async with following(client, events_path(name, f"?as={who}")) as socket:
                assert (await socket.closed())[0] == code
        async with following(client, events_path(name, "?as=observer")) as socket:
            await socket.until(is_live)
            await socket.do(name, Pause())
            assert (await socket.until_of(Refused)).problem.status == 403


async def test_heartbeats_are_sent_in_silence_and_who_answers_stays(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path, heartbeat=0.02, patience=0.2)) as client:
        name = await begun(client)
        async with following(client, events_path(name)) as good, following(client, events_path(name)) as dead:
            begun_at = anyio.current_time()
            while anyio.current_time() < begun_at + 0.5:
                await good.until_of(Heartbeat)
                await good.tell(Alive())
            code, reason = await dead.closed()
            assert (code, reason[:12]) == (4008, "no progress:")
            await good.do(name, Pause())
            await good.until_of(Ack)


async def read_up_to(socket: Following, name: str, seq: int) -> None:
    """Read until it has the events of a conversation up to a seq."""
    while len(socket.events[name]) < seq:
        assert await socket.more(), socket.socket.close_code


async def test_who_stops_reading_is_closed_and_holds_up_nobody(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path, patience=1.0)) as client:
        name = await begun(client)
        async with following(client, events_path(name)) as good:
            await good.until(is_live)
            async with following(client, events_path(name)) as socket:
                conversation = await client.services.hosting.get(name, EVERYONE)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(read_up_to, good, name, conversation.state.seq + 150)
                    for number in range(150):
                        await conversation.send_message(f"{number} " + "x" * 60_000)
                await eventually(lambda: client.services.streams.count == 1, "the other is closed", 20)
                assert (await socket.closed())[0] == 4008
        assert good.events[name] == log_of(tmp_path, name)
        missed = len(socket.events[name])
        assert socket.events[name] == good.events[name][:missed]
        async with following(client, events_path(name, f"?after={missed}")) as again:
            await again.until(is_live)
        assert socket.events[name] + again.events[name] == good.events[name]


async def test_one_that_is_deleted_ends_with_its_problem(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        one, two = await begun(client), await begun(client)
        async with following(client, events_path(one)) as alone, following(client, "/events") as several:
            await alone.until(is_live)
            await several.tell(Follow(conversation=one), Follow(conversation=two))
            for _ in range(2):
                await several.until(is_live)
            assert (await client.ask("DELETE", f"/conversations/{one}"))[0] == 204
            assert (await alone.until_of(Ended)).problem.code == "conversation-missing"
            assert (await alone.closed())[0] == 4004
            ended = await several.until_of(Ended)
            assert (ended.conversation, ended.problem.status) == (one, 404)
            await several.do(two, Pause())
            await several.until_of(Ack)


async def test_what_is_logged_while_it_falls_asleep_comes_too(tmp_path: Path) -> None:
    """With a weaker durability its last event says that all is on the disk."""
    async with served(tmp_path, ScriptedLLM([]), durability=Durability.INTERVAL) as client:
        name = await begun(client)
        async with following(client, events_path(name)) as socket:
            await socket.until(is_live)
            conversation = await client.services.hosting.get(name, EVERYONE)
            assert await conversation.rest()
            log = log_of(tmp_path, name)
            with anyio.fail_after(20):
                while len(socket.events[name]) < len(log):
                    assert await socket.more()
        assert socket.events[name] == log
        assert b'"DurabilityChanged"' in log[-1]


async def test_when_the_server_goes_away_sockets_are_told(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = await begun(client)
        async with following(client, events_path(name)) as socket:
            await socket.until(is_live)
            client.services.streams.drain()
            assert (await socket.closed())[0] == 1001
        async with following(client, events_path(name)) as socket:
            assert (await socket.closed())[0] == 1013


async def test_there_may_be_so_many_streams(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path, max_streams=1)) as client:
        async with following(client, "/events"):
            async with following(client, "/events") as second:
                assert (await second.closed())[0] == 1013
        with anyio.fail_after(20):
            while client.services.streams.count:
                await anyio.lowlevel.checkpoint()
        async with following(client, "/events") as third:
            await third.tell(Follow(conversation="nobody"))
            await third.until_of(Ended)


async def test_compression_is_declined(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = await begun(client)
        async with following(client, events_path(name), compress=15) as socket:
            await socket.until(is_live)
            assert socket.socket.compress == 0


async def test_nothing_is_left_of_those_who_left(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = await begun(client)
        sockets: list[Following] = []
        for _ in range(5):
            async with following(client, events_path(name)) as socket:
                await socket.until(is_live)
                sockets.append(socket)
        streams = client.services.streams
        with anyio.fail_after(20):
            while streams.count or streams.relays:
                await anyio.lowlevel.checkpoint()
        assert isinstance(sockets[0].socket, aiohttp.ClientWebSocketResponse)
