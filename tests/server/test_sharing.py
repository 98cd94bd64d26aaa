"""Conversations that others delegate to, looked at and steered over a real server while their parents run them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import LLM, Agent, ExecutionStatus, PermissionRule, Tool
from agentrt.context.replies import ModelReply
from agentrt.controls import Confirm, Interrupt, Pause, SendMessage, StartRun
from agentrt.events import Cursor, InterruptEvent, PauseEvent
from agentrt.frames import Ack, Ended, Follow
from agentrt.protocols import ModelRequest, Watch
from agentrt.server.principals import EVERYONE
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, call, finish
from tests.delegating import Play, delegate, model, steps_taken, task_of, told
from tests.proofs.waiting import eventually

from .served import Client, served
from .streams.following import SECONDS, following, log_of

pytestmark = pytest.mark.real

PARENT = "parent"
PLAYS: dict[str, Play] = {
    "all": (delegate("a"), lambda request: finish(told(request)[-1])),
    "a": (call("terminal", command="echo one"), call("terminal", command="echo two"), finish("A.")),
}


class Waiting(ScriptedLLM):
    """Plays, and waits in the second step of the child until it may go on."""

    def __init__(self, plays: Mapping[str, Play] = PLAYS) -> None:
        super().__init__([])
        self._plays = model(plays)
        self.reached, self.go_on = anyio.Event(), anyio.Event()

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        """The next step."""
        if task_of(request) == "a" and steps_taken(request) == 1:
            self.reached.set()
            watch.show("text", "I think")
            await self.go_on.wait()
        return await self._plays.complete(request, watch)


def spec(**given: Any) -> Agent:
    """An agent that delegates, and has a shell."""
    return Agent(llm=LLM(model="scripted/model"), tools=(Tool("delegate"), Tool("terminal")), **given)


async def begun(client: Client, agent: Agent) -> None:
    """Have a parent at work."""
    status, made = await client.ask("POST", "/conversations", {"id": PARENT, "agent": agent, "message": "all"})
    assert status == 201, made


async def child_of(client: Client) -> str:
    """The id of what the parent delegated to, once that has begun."""
    found = list[str]()

    async def there() -> bool:
        _, page = await client.ask("GET", "/conversations")
        found.extend(item["id"] for item in page["items"] if item["id"] != PARENT)
        return bool(found)

    await eventually(there, "a child has begun", SECONDS)
    return found[0]


async def waiting_child(client: Client, held: Waiting) -> str:
    """The id of what a parent delegated to, once its second step is held."""
    await begun(client, spec())
    with anyio.fail_after(SECONDS):
        await held.reached.wait()
    return await child_of(client)


async def finished(client: Client, name: str) -> None:
    """Wait until a conversation has ended well."""

    async def ended() -> bool:
        return bool((await client.ask("GET", f"/conversations/{name}"))[1]["status"] == ExecutionStatus.FINISHED)

    await eventually(ended, f"{name} has finished", SECONDS)


async def test_a_child_is_followed_while_its_parent_runs_it(tmp_path: Path) -> None:
    held = Waiting()
    async with served(tmp_path, held) as client:
        child = await waiting_child(client, held)
        path = f"/conversations/{child}"
        for read in ("", "/events", "/state", "/events/1"):
            status, told_so = await client.ask("GET", path + read)
            assert status == 200, told_so
        assert (await client.ask("GET", path))[1]["status"] == "running"
        async with following(client, f"{path}/events?deltas=1") as socket:
            await socket.until_event("ActionEvent")
            await client.ask("POST", f"{path}/rename", {"title": "Looked at"})
            await socket.until_event("TitleChanged")
            held.go_on.set()
            await finished(client, PARENT)
            await socket.until(lambda frame: len(socket.events[child]) == len(log_of(tmp_path, child)))
            assert socket.events[child] == log_of(tmp_path, child)
            assert (await client.ask("GET", path))[1]["status"] == "finished"
            await socket.do(child, SendMessage(content="Thanks"))
            await socket.until_of(Ack)
        log = read_conversation(tmp_path / "store" / "conversations" / child)
        assert not any(isinstance(event, InterruptEvent | PauseEvent) for event in log)


async def test_a_child_is_confirmed_stopped_and_gone_on_with_over_a_socket(tmp_path: Path) -> None:
    async with served(tmp_path, model(PLAYS)) as client:
        await begun(client, spec(rules=(PermissionRule("ask", "terminal"),)))
        child = await child_of(client)
        async with following(client, f"/conversations/{child}/events") as socket:
            await socket.until_event("ConfirmationRequested")
            await socket.do(child, Confirm())
            await socket.until_of(Ack)
            await socket.until_event("ConfirmationRequested")
            for stops in (Pause(), Interrupt()):
                await socket.do(child, stops)
                await socket.until_of(Ack)
                assert (await client.ask("GET", f"/conversations/{PARENT}"))[1]["status"] != "finished"
                await socket.do(child, StartRun())
                await socket.until_of(Ack)
            await socket.do(child, Confirm())
            await socket.until_of(Ack)
        await finished(client, PARENT)


async def test_whoever_looks_first_sees_the_parent_go_on_with_it(tmp_path: Path) -> None:
    held = Waiting()
    async with served(tmp_path, held) as client:
        child = await waiting_child(client, held)
    held.go_on.set()
    async with served(tmp_path, held) as client:
        async with following(client, "/events") as socket:
            await socket.tell(Follow(conversation=child, after=Cursor()))
            await socket.until_event("PauseEvent")  # with its parent, when the server was stopped
            await client.ask("POST", f"/conversations/{PARENT}/run", {})
            await finished(client, PARENT)
            await socket.until(lambda frame: len(socket.events[child]) == len(log_of(tmp_path, child)))
            assert socket.events[child] == log_of(tmp_path, child)
            assert not any(isinstance(frame, Ended) for frame in socket.frames)


async def test_a_child_is_not_deleted_under_its_parent(tmp_path: Path) -> None:
    held = Waiting()
    async with served(tmp_path, held) as client:
        child = await waiting_child(client, held)
        async with following(client, f"/conversations/{child}/events") as socket:
            await socket.until_event("ActionEvent")
            status, problem = await client.ask("DELETE", f"/conversations/{child}")
            assert (status, problem["code"]) == (423, "log-locked")
            held.go_on.set()
            await finished(client, PARENT)
            await socket.until(lambda frame: len(socket.events[child]) == len(log_of(tmp_path, child)))
        assert (await client.ask("DELETE", f"/conversations/{child}"))[0] == 204


async def test_a_server_that_stops_waits_no_longer_than_the_tree_needs(tmp_path: Path) -> None:
    """A parent whose child rests has nothing under way."""
    held = Waiting()
    async with served(tmp_path, held) as client:
        await begun(client, spec())
        with anyio.fail_after(SECONDS):
            await held.reached.wait()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.services.hosting.drain, 1000.0)
                await anyio.wait_all_tasks_blocked()
                held.go_on.set()
        parent = await client.services.hosting.get(PARENT, EVERYONE)
        assert parent.state.status is ExecutionStatus.PAUSED
