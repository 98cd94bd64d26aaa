"""How a server begins, stops, and what it says meanwhile."""

from __future__ import annotations

import socket
from pathlib import Path

import anyio
import pytest
from aiohttp import WSMsgType

from agentrt import LLM, Agent, Runtime
from agentrt.errors import ConfigurationError
from agentrt.events import InterruptEvent, PauseEvent
from agentrt.server import ServerSettings, create_app
from agentrt.server.hosting import STOPPED
from agentrt.server.readiness import LOADING, Readiness
from agentrt.server.running import drain, serving
from agentrt.storage import MemoryStorage, read_conversation
from agentrt.testing import ScriptedLLM, call, finish
from tests.steering import HeldModel

from .served import agent, served

pytestmark = pytest.mark.real


async def test_an_address_that_is_taken_is_said_in_a_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings = ServerSettings(port=other.getsockname()[1], workspaces=(tmp_path,))
        app = create_app(Runtime(tmp_path / "store", client=ScriptedLLM([])), settings)
        with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1, port \d+ is in use"):
            async with serving(app, settings):
                pass
    settings = ServerSettings(host="192.0.2.1", port=0, workspaces=(tmp_path,))
    with pytest.raises(ConfigurationError, match=r"cannot listen on 192\.0\.2\.1"):
        async with serving(app, settings):
            pass


async def test_it_is_ready_once_models_can_be_called(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        with anyio.fail_after(10):
            while (await client.ask("GET", "/ready"))[0] != 200:
                await anyio.lowlevel.checkpoint()
        readiness = client.services.readiness
        readiness.waits_for = LOADING
        async with client.session.get(client.url + "/ready") as answer:
            problem = await answer.json()
            assert (answer.status, answer.headers["Retry-After"], problem["code"]) == (503, "1", "not-ready")
        assert (await client.ask("GET", "/alive"))[0] == 200


@pytest.mark.simulated
async def test_an_agent_that_cannot_work_is_said_and_others_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Keyless(ScriptedLLM):
        async def prepare(self, llm: object) -> None:
            raise ConfigurationError("no key")

    settings = ServerSettings(agent=Agent(llm=LLM(model="scripted/model")))
    readiness = Readiness(lambda: 0, MemoryStorage().probe)
    runtime = Runtime(tmp_path / "store", client=Keyless([]))
    await readiness.load(runtime, settings, settings.agent)
    assert readiness.ready
    assert "no key" in caplog.text


async def test_while_it_drains_a_step_may_end_and_nothing_begins(tmp_path: Path) -> None:
    model = HeldModel([call("terminal", command="echo so far"), finish("Done.")], held=(0,))
    async with served(tmp_path, model) as client:
        await client.ask("POST", "/conversations", {"id": "c", "agent": agent(), "message": "Begin"})
        await model.calling()
        async with client.session.ws_connect(client.url + "/conversations/c/events") as follower:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(drain, client.app, 30.0)
                with anyio.fail_after(30):
                    while (await client.ask("GET", "/ready"))[0] != 503:
                        await anyio.lowlevel.checkpoint()
                for method, path, body in (
                    ("POST", "/conversations", {"agent": agent()}),
                    ("POST", "/conversations/c/message", {"content": "more"}),
                    ("POST", "/conversations/c/fork", {}),
                ):
                    async with client.session.request(method, client.url + path, json=body) as answer:
                        problem = await answer.json()
                        assert (answer.status, problem["code"]) == (503, "draining"), path
                        assert answer.headers["Retry-After"] == "5"
                with anyio.fail_after(30):
                    while (await client.ask("GET", "/conversations/c"))[1]["status"] != "paused":
                        await anyio.lowlevel.checkpoint()  # until that is on disk
                assert (await client.ask("POST", "/conversations/c/pause", {}))[0] == 200
                model.release()
            client.services.streams.drain()
            with anyio.fail_after(30):
                while (message := await follower.receive()).type is not WSMsgType.CLOSE:
                    pass
            assert message.data == 1001
    events = read_conversation(tmp_path / "store" / "conversations" / "c")
    assert "ObservationEvent" not in {type(event).__name__ for event in events}, "the call's tool was not begun"
    assert "ActionEvent" in {type(event).__name__ for event in events}, "the call itself has ended"
    assert any(isinstance(event, PauseEvent) and event.reason == STOPPED for event in events)
    assert not any(isinstance(event, InterruptEvent) for event in events)


async def test_what_takes_longer_is_interrupted(tmp_path: Path) -> None:
    model = HeldModel([finish("Done.")], held=(0,))
    with anyio.fail_after(10):
        async with served(tmp_path, model) as client:
            await client.ask("POST", "/conversations", {"id": "c", "agent": agent(), "message": "Begin"})
            await model.calling()
            await drain(client.app, 0.05)
    assert model.cut == 1
    events = read_conversation(tmp_path / "store" / "conversations" / "c")
    assert type(events[-1]).__name__ == "ModelCalled"
