"""A cursor without an epoch is of epoch 0: where events were lost, every entrance refuses it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner

from agentrt import LLM, Agent, Conversation, RemoteWorkspace, Runtime
from agentrt.cli.main import commands
from agentrt.controls import Fork, Rewind
from agentrt.errors import CursorExpired
from agentrt.events import Cursor
from agentrt.frames import Ended, Follow, Live
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.specs import Durability
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM
from tests.remote.places import TOKEN
from tests.server.served import Client, served
from tests.server.streams.following import following

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=())
NAME = "c"
MESSAGES = 80
"""More than are kept in memory."""

SEEN, NOW = Cursor(0, 4), Cursor(1, 4)


async def lose(directory: Path) -> None:
    """A conversation whose log is in epoch 1: a process died that had shown what it had not synced."""
    log = directory / "store" / "conversations" / NAME / "events.jsonl"
    async with Runtime(directory / "store", client=ScriptedLLM([]), durability=Durability.INTERVAL) as runtime:
        async with Conversation(AGENT, directory, runtime=runtime, id=NAME) as conversation:
            for number in range(MESSAGES):
                await conversation.send_message(f"message {number}")
            left = log.read_bytes()
    log.write_bytes(left)
    async with Runtime(directory / "store", client=ScriptedLLM([])) as runtime:
        async with Conversation(id=NAME, runtime=runtime) as conversation:
            assert conversation.cursor.epoch == 1


async def first(items: AsyncIterator[Any]) -> Any:
    return await anext(items)


async def run(conversation: Conversation, after: Cursor | int) -> object:
    return await anext(aiter(conversation.run(after)))


ENTRANCES: dict[str, Callable[[Conversation, Any], Awaitable[Any]]] = {
    "events": lambda conversation, after: first(conversation.events(after)),
    "page": lambda conversation, after: conversation.page(after, 3),
    "stream": lambda conversation, after: first(conversation.stream(after)),
    "run": run,
    "fork": lambda conversation, after: conversation.fork(after),
    "rewind": lambda conversation, after: conversation.rewind(after),
}
ONLY_HERE: dict[str, Callable[[Conversation, Any], Awaitable[Any]]] = {
    "page_json": lambda conversation, after: conversation.page_json(after, 3),
    "lines": lambda conversation, after: first(conversation.lines(after)),
}
CONTROLS = (Rewind(SEEN.seq), Fork(SEEN.seq), Rewind(SEEN.seq, 2), Fork(SEEN.seq, epoch=2))


@asynccontextmanager
async def opened(directory: Path, where: str) -> AsyncIterator[Conversation]:
    """The conversation, here or on a server."""
    runtime = Runtime(directory / "store", client=ScriptedLLM([]))
    if where == "here":
        async with runtime, Conversation(id=NAME, runtime=runtime) as conversation:
            yield conversation
        return
    settings = ServerSettings(port=0, token=TOKEN, workspaces=(directory,), drain=1.0)
    async with serving(create_app(runtime, settings), settings) as url:
        place = RemoteWorkspace(url, timeout=5.0, api_key=TOKEN)
        async with Conversation(id=NAME, workspace=place) as conversation:
            yield conversation


@pytest.mark.parametrize("where", ["here", "there"])
async def test_in_a_program(tmp_path: Path, where: str) -> None:
    await lose(tmp_path)
    async with opened(tmp_path, where) as conversation:
        for name, enter in (ENTRANCES | (ONLY_HERE if where == "here" else {})).items():
            for old in (SEEN.seq, SEEN, Cursor(2, SEEN.seq)):
                with pytest.raises(CursorExpired, match="start over"):
                    await enter(conversation, old)
                    pytest.fail(name)
            if name not in ("rewind", "fork"):
                assert await enter(conversation, 0), name
            if name != "run":
                assert await enter(conversation, NOW), name
        for control in CONTROLS:
            with pytest.raises(CursorExpired):
                await conversation.do(control)


async def test_the_pages_that_a_mirror_reads_are_of_its_epoch(tmp_path: Path) -> None:
    await lose(tmp_path)
    log = read_conversation(tmp_path / "store" / "conversations" / NAME)
    async with opened(tmp_path, "there") as conversation:
        assert list(await conversation.page(NOW, 3)) == log[4:7], "the file of the server has them, no memory here"
        assert [event async for event in conversation.events()] == log


@asynccontextmanager
async def server(directory: Path) -> AsyncIterator[Client]:
    await lose(directory)
    async with served(directory, ScriptedLLM([])) as client:
        yield client


GETS = ("events?after=4", "events?before=4&order=desc", "events/count?after=4", "events/count?before=4", "state?at=4")


async def test_over_rest(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        base = f"/conversations/{NAME}"
        for path in GETS:
            for epoch in ("", "&epoch=0", "&epoch=2"):
                status, problem = await client.ask("GET", f"{base}/{path}{epoch}")
                assert (status, problem["code"]) == (410, "cursor-expired"), path
            assert (await client.ask("GET", f"{base}/{path}&epoch=1"))[0] == 200, path
        for path in ("events", "events?after=0&limit=1", "events?order=desc", "events/count", "state", "state?at=0"):
            assert (await client.ask("GET", f"{base}/{path}"))[0] == 200, path
        for path, body in (("rewind", {"to": 4}), ("fork", {"at": 4})):
            for old in (body, body | {"epoch": 0}, body | {"epoch": 2}):
                status, problem = await client.ask("POST", f"{base}/{path}", old)
                assert (status, problem["code"]) == (410, "cursor-expired"), path
            assert (await client.ask("POST", f"{base}/{path}", body | {"epoch": 1}))[0] < 300, path
        assert (await client.ask("POST", f"{base}/fork", {}))[0] < 300


async def test_on_a_socket(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        path = f"/conversations/{NAME}/events"
        for old in ("?after=4", "?after=4&epoch=0", "?after=0-4", "?after=4&epoch=2"):
            async with following(client, path + old) as socket:
                assert (await socket.closed())[0] == 4010
        for good in ("", "?after=0", "?after=4&epoch=1", "?after=1-4"):
            async with following(client, path + good) as socket:
                assert (await socket.until_of(Live)).cursor.epoch == 1
        async with following(client, "/events") as socket:
            await socket.socket.send_str('[{"type":"follow","conversation":"c","after":{"seq":4}}]')
            assert (await socket.until_of(Ended)).problem.code == "cursor-expired"
            await socket.tell(Follow(conversation=NAME, after=NOW))
            await socket.until_of(Live)


async def test_as_server_sent_events(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        url = f"{client.url}/conversations/{NAME}/events"

        async def status(query: str, **headers: str) -> int:
            async with client.session.get(url + query, headers={"Accept": "text/event-stream", **headers}) as answer:
                return answer.status

        for old in ("?after=4", "?after=4&epoch=0", "?after=0-4", "?after=4&epoch=2"):
            assert await status(old) == 410
        assert await status("", **{"Last-Event-ID": "0-4"}) == await status("", **{"Last-Event-ID": "4"}) == 410
        assert await status("", **{"Last-Event-ID": "1-4"}) == 200
        for good in ("", "?after=0", "?after=4&epoch=1", "?after=1-4"):
            assert await status(good) == 200


@pytest.mark.simulated
def test_on_the_command_line(tmp_path: Path) -> None:
    anyio.run(lose, tmp_path)
    store = ("--store", str(tmp_path / "store"))

    def agentrt(*words: str) -> Any:
        return CliRunner().invoke(commands, [*words, *store])

    for command in ("show", "fork"):
        for old in ("4", "0-4", "2-4"):
            assert isinstance(agentrt(command, NAME, "--at", old).exception, CursorExpired)
        for unfit in ("0", "1-0", "x", "-4", "1-", "1--4"):
            assert agentrt(command, NAME, "--at", unfit).exit_code == 2
        assert agentrt(command, NAME, "--at", "1-4").exit_code == 0
        assert agentrt(command, NAME).exit_code == 0
