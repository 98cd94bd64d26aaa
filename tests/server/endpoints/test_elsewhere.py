"""Conversations that another process has open: they are read from their logs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import pytest

from agentrt import Conversation, Runtime
from agentrt.controls import SendMessage
from agentrt.events import Cursor, ObservationEvent
from agentrt.frames import Ended, Follow, Refused
from agentrt.specs import BlobReference
from agentrt.testing import ScriptedLLM, call, finish, say
from tests.server.auth.doors import doors

from ..served import Client, served
from ..streams.following import following
from .helpers import begin, settled

pytestmark = pytest.mark.real

PATHS = ("", "/state", "/state?at=3", "/events", "/events?order=desc&limit=3", "/events/count", "/events/2", "/model")


@asynccontextmanager
async def elsewhere(directory: Path, name: str) -> AsyncIterator[Conversation]:
    """A conversation that is open as in another process: by another runtime, with locks of its own."""
    model = ScriptedLLM(lambda request: say("Hello."))
    async with Runtime(directory / "store", client=model) as runtime, Conversation(id=name, runtime=runtime) as live:
        yield live


async def finished(directory: Path) -> str:
    """A conversation of a server that has stopped; its last result is in a blob."""
    model = ScriptedLLM([call("terminal", command="seq 1 20000"), finish("Done.")])
    async with served(directory, model) as client:
        made = await begin(client, message="Count", title="Counting")
        assert (await settled(client, made["id"]))["status"] == "finished"
        return str(made["id"])


async def answers(client: Client, name: str, *more: str) -> list[object]:
    """What each read is answered with."""
    found: list[object] = [await client.ask("GET", f"/conversations/{name}{path}") for path in (*PATHS, *more)]
    found.append(await client.ask("GET", "/conversations?status=finished"))
    found.append(await client.ask("GET", "/search?query=Count"))
    return found


async def test_reads_are_answered_as_if_it_were_not_open(tmp_path: Path) -> None:
    name = await finished(tmp_path)
    async with served(tmp_path, ScriptedLLM([])) as client:
        expected = await answers(client, name, "/files")
        state = await client.services.runtime.store.history(name).state()
    async with elsewhere(tmp_path, name) as live, served(tmp_path, ScriptedLLM([])) as client:
        assert await answers(client, name, "/files") == expected
        blobs = [
            block.sha256
            async for event in live.events()
            if isinstance(event, ObservationEvent)
            for block in event.content
            if isinstance(block, BlobReference)
        ]
        assert len(blobs) == 1
        async with client.session.get(f"{client.url}/conversations/{name}/blobs/{blobs[0]}") as answer:
            assert (answer.status, len(await answer.read()) > 100_000) == (200, True)
        assert live.state.seq == state.seq, "whoever reads writes nothing"


async def test_changes_are_refused(tmp_path: Path) -> None:
    name = await finished(tmp_path)
    async with elsewhere(tmp_path, name), served(tmp_path, ScriptedLLM([])) as client:
        await client.ask("GET", f"/conversations/{name}")
        asked = [
            ("POST", "/message", {"content": "more"}),
            ("POST", "/run", {}),
            ("POST", "/interrupt", {}),
            ("POST", "/fork", {}),
            ("PATCH", "", {"title": "other"}),
            ("DELETE", "", None),
            ("GET", "/servers", None),
        ]
        for method, path, body in asked:
            status, problem = await client.ask(method, f"/conversations/{name}{path}", body)
            assert (status, problem["code"]) == (423, "log-locked"), path
            assert "close it there" in problem["detail"]
        headers = {"Content-Type": "application/octet-stream"}
        url = f"{client.url}/conversations/{name}/files/content?path=new.txt"
        async with client.session.put(url, data=b"x", headers=headers) as answer:
            assert answer.status == 423
        async with following(client, "/events") as socket:
            await socket.do(name, SendMessage(content="more"))
            refused = await socket.until_of(Refused)
            assert refused.problem.status == 423


async def test_a_follower_misses_nothing_while_the_conversation_changes_hands(tmp_path: Path) -> None:
    """As in a rolling restart: the old server writes, closes it, and the new one goes on."""
    name = await finished(tmp_path)
    events = tmp_path / "store" / "conversations" / name / "events.jsonl"
    async with served(tmp_path, ScriptedLLM([say("Here.")])) as client, anyio.create_task_group() as tasks:
        closed, close = anyio.Event(), anyio.Event()

        async def old_server(*, task_status: anyio.abc.TaskStatus[Conversation]) -> None:
            async with elsewhere(tmp_path, name) as live:
                task_status.started(live)
                await close.wait()
            closed.set()

        live: Conversation = await tasks.start(old_server)
        async with following(client, "/events") as socket:
            await socket.tell(Follow(conversation=name, after=Cursor()))
            await socket.until(lambda frame: len(socket.events[name]) == live.state.seq)
            await live.send_message("while it is open elsewhere")
            await live.run()
            await socket.until(lambda frame: len(socket.events[name]) == live.state.seq)
            _, info = await client.ask("GET", f"/conversations/{name}")
            assert info["cursor"]["seq"] == live.state.seq
            close.set()
            await closed.wait()
            status, _ = await client.ask("POST", f"/conversations/{name}/message", {"content": "here", "run": True})
            assert status == 200
            await settled(client, name)
            seq = (await client.ask("GET", f"/conversations/{name}"))[1]["cursor"]["seq"]
            await socket.until(lambda frame: len(socket.events[name]) >= seq)
            assert not any(isinstance(frame, Ended) for frame in socket.frames)
            numbers = [msgspec.json.decode(event)["seq"] for event in socket.events[name]]
            assert numbers == list(range(1, len(numbers) + 1))
    assert len(events.read_bytes().splitlines()) >= len(numbers)


async def test_event_streams_read_it_too(tmp_path: Path) -> None:
    name = await finished(tmp_path)
    async with elsewhere(tmp_path, name) as live, served(tmp_path, ScriptedLLM([])) as client:
        url = f"{client.url}/conversations/{name}/events"
        async with client.session.get(url, headers={"Accept": "text/event-stream"}) as answer:
            assert answer.status == 200
            text = b""
            with anyio.fail_after(10):
                while text.count(b"event: event") < live.state.seq and text.count(b"\nid: ") < live.state.seq:
                    text += await answer.content.readany()


async def test_other_users_learn_nothing_of_it(tmp_path: Path) -> None:
    async with doors(tmp_path) as at:
        made = await at.begin("ada", title="one")
    async with elsewhere(tmp_path, made) as live:
        await live.send_message("more")
        async with doors(tmp_path) as at:
            for path in ("", "/events", "/state"):
                assert (await at.ask("ada", "GET", f"/conversations/{made}{path}"))[0] == 200
                assert (await at.ask("root", "GET", f"/conversations/{made}{path}"))[0] == 200
                assert (await at.ask("bob", "GET", f"/conversations/{made}{path}"))[0] == 404


@pytest.mark.parametrize("memo", [True, False])
async def test_what_is_written_elsewhere_meanwhile_is_read(tmp_path: Path, memo: bool) -> None:
    name = await finished(tmp_path)
    if not memo:
        (tmp_path / "store" / "conversations" / name / "memo.bin").unlink()
    async with elsewhere(tmp_path, name) as live, served(tmp_path, ScriptedLLM([])) as client:
        for number in range(3):
            await live.send_message(f"message {number}")
            _, page = await client.ask("GET", f"/conversations/{name}/events?after={live.state.seq - 1}")
            assert page["items"][0]["content"][0]["text"] == f"message {number}"
            assert page["cursor"]["seq"] == live.state.seq
            _, info = await client.ask("GET", f"/conversations/{name}/state")
            assert info["cursor"]["seq"] == live.state.seq
