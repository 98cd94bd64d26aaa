"""Server-sent events of a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import anyio
import msgspec
import pytest

from agentrt.server.principals import EVERYONE
from agentrt.server.streams.sse import RETRY
from agentrt.testing import ScriptedLLM
from tests.proofs.waiting import eventually
from tests.server.served import Client, served

from .following import SECONDS, Talking, begun, log_of, settings

pytestmark = pytest.mark.real


class Source:
    """What a browser's EventSource makes of a stream: (type, data), and the last id."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response, self.last_id, self.retry, self.heartbeats = response, "", 0, 0

    async def next(self) -> tuple[str, bytes] | None:
        """The next event; None at the end."""
        kind, data = "message", b""
        with anyio.fail_after(SECONDS):
            while line := await self.response.content.readline():
                name, _, value = line.rstrip(b"\n").partition(b": ")
                match name:
                    case b"id":
                        self.last_id = value.decode()
                    case b"event":
                        kind = value.decode()
                    case b"data":
                        data = value
                    case b"retry":
                        self.retry = int(value)
                    case b"" if value == b"heartbeat":
                        self.heartbeats += 1
                    case b"" if data:
                        return kind, data
        return None

    async def until(self, wanted: str) -> list[bytes]:
        """The events of the log up to the next of a type, which comes last."""
        found = list[bytes]()
        while (event := await self.next()) is not None:
            if event[0] in ("event", wanted):
                found.append(event[1])
            if event[0] == wanted:
                return found
        raise AssertionError("the stream ended")


@asynccontextmanager
async def source(client: Client, name: str, query: str = "", **headers: str) -> AsyncIterator[Source]:
    """A stream of a conversation."""
    url = f"{client.url}/conversations/{name}/events{query}"
    async with client.session.get(url, headers={"Accept": "text/event-stream", **headers}) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        yield Source(response)


async def test_replay_live_and_resumed_by_the_last_id(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = await begun(client)
        conversation = await client.services.hosting.get(name, EVERYONE)
        async with source(client, name) as first:
            seen = await first.until("live")
            assert msgspec.json.decode(seen.pop()) == {"epoch": 0, "seq": 2}
            await conversation.send_message("One")
            seen += [(await first.next() or ("", b""))[1]]
            assert (first.last_id, first.retry) == ("0-3", RETRY)
        await conversation.send_message("Two")
        headers = {"Last-Event-ID": first.last_id}
        async with source(client, name, **headers) as second, source(client, name, "?after=3") as third:
            rest = (await second.until("live"))[:-1]
            assert rest == (await third.until("live"))[:-1]
        assert seen + rest == log_of(tmp_path, name)


async def test_deltas_have_no_id(tmp_path: Path) -> None:
    model = Talking("Hello, ", "you.")
    async with served(tmp_path, model) as client:
        name = await begun(client, "Speak")
        async with source(client, name) as stream:
            await stream.until("delta")
            before = stream.last_id
            assert before.startswith("0-")
            model.go_on.set()
            assert (await stream.next() or ("", b""))[0] == "event"
            assert stream.last_id != before


async def test_heartbeats_are_comments(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path, heartbeat=0.02)) as client:
        name = await begun(client)
        conversation = await client.services.hosting.get(name, EVERYONE)
        async with source(client, name) as stream, anyio.create_task_group() as tasks:
            await stream.until("live")

            async def later() -> None:
                await eventually(lambda: stream.heartbeats >= 2, "heartbeats", 10)
                await conversation.send_message("Now")

            tasks.start_soon(later)
            assert (await stream.next() or ("", b""))[0] == "event"
            assert stream.heartbeats >= 2


async def test_what_cannot_be_followed_is_a_problem(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = await begun(client)
        for path, status in ((f"/conversations/{name}/events?after=99", 410), ("/conversations/x/events", 404)):
            assert (await client.ask("GET", path, Accept="text/event-stream"))[0] == status
        assert (await client.ask("GET", f"/conversations/{name}/events?after=x", Accept="text/event-stream"))[0] == 422
        assert client.services.streams.count == 0


async def test_it_ends_with_the_conversation_and_with_the_server(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        one, two = await begun(client), await begun(client)
        async with source(client, one) as stream, source(client, two) as other:
            await stream.until("live")
            assert (await client.ask("DELETE", f"/conversations/{one}"))[0] == 204
            (problem,) = await stream.until("ended")
            assert msgspec.json.decode(problem)["status"] == 404
            assert await stream.next() is None
            await other.until("live")
            client.services.streams.drain()
            assert await other.next() is None
        await eventually(lambda: client.services.streams.count == 0, "it is left")


async def test_pages_of_events_have_the_same_path(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = await begun(client)
        async with client.session.get(f"{client.url}/conversations/{name}/events") as response:
            assert response.content_type != "text/event-stream"


async def test_who_takes_nothing_is_left(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path, patience=0.2)) as client:
        name = await begun(client)
        conversation = await client.services.hosting.get(name, EVERYONE)
        async with source(client, name):
            for _ in range(150):
                await conversation.send_message("x" * 60_000)
            await eventually(lambda: not client.services.streams.count, "it is left", SECONDS)
