"""Servers that do wrong whatever there is to be done, all at once beside a good one: conversations live through it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import psutil
import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime
from agentrt.context.messages import Message
from agentrt.events import Event, MessageEvent, ObservationEvent, ToolsChanged
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.state import fold
from agentrt.testing import ScriptedLLM, calls, finish
from agentrt.testing.scripted import Turn
from tests.mcp.serving import free_port, listens
from tests.mcp.warm import ROOT
from tests.mcp.wicked import WAYS, WEB_WAYS

from .evidence import check_numbering
from .waiting import eventually

pytestmark = pytest.mark.long

STAGES = (
    "server/discover",
    "initialize",
    "notifications/initialized",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
)
BATCHES = 3


def turn(request: ModelRequest) -> Turn:
    """Three batches of calls, then the end."""
    batches = sum(bool(message.tool_calls) for message in request.messages)
    note = ("demo_read_resource", {"uri": "notes://today"})
    both: Any = (("add", {"a": 1, "b": 2}), ("other", {}), note, ("add", {"a": 2, "b": 2}))
    return calls(*both) if batches < BATCHES else finish("lived")


GOOD = {"command": sys.executable, "args": ["-m", "tests.mcp.server"], "cwd": str(ROOT), "connect_timeout": 5}


def process(**env: str) -> dict[str, Any]:
    """A wicked server that is started by its conversation."""
    return {"command": sys.executable, "args": ["-m", "tests.mcp.wicked"], "cwd": str(ROOT), "env": env}


async def live(runtime: Runtime, place: Path, servers: dict[str, Any]) -> list[Event]:
    """The events of a conversation that has come to its end."""
    place.mkdir()
    spec = Agent(llm=LLM(model="scripted"), tools=(), mcp_servers=servers, stuck=None)
    async with Conversation(spec, place, runtime=runtime) as conversation:
        await conversation.send_message("/demo:review path=a.py @demo:notes://today")
        state = await conversation.run()
        assert state.status is ExecutionStatus.FINISHED, (place.name, state.status, state.error)
        assert state.answer == "lived"
        return [event async for event in conversation.events()]


def check_answered(messages: list[Message]) -> None:
    """Each call has one result, in the messages right behind it: what all providers want."""
    left: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert message.tool_call_id in left
            left.remove(str(message.tool_call_id))
        else:
            assert not left, "calls without a result"
        left += [call.id for call in message.tool_calls]
    assert not left


@asynccontextmanager
async def served(stage: str) -> AsyncIterator[dict[str, dict[str, Any]]]:
    """By what they do wrong, servers that listen, as a conversation has them in its configuration."""
    async with AsyncExitStack() as stack:
        found = {}
        for way in WEB_WAYS:
            port = free_port()
            command = [sys.executable, "-m", "tests.mcp.wicked"]
            env = {**os.environ, "HOW": way, "WHEN": stage, "PORT": str(port)}
            listening = await stack.enter_async_context(await anyio.open_process(command, cwd=ROOT, env=env))
            stack.callback(_killed, listening)
            await eventually(partial(listens, port), "it listens", 30)
            found[way] = {"url": f"http://127.0.0.1:{port}/mcp"}
        yield found


def _killed(process: anyio.abc.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_all_live_and_the_good_one_notices_nothing(tmp_path: Path, stage: str, over: str) -> None:
    before = set(psutil.Process().children(recursive=True))
    if over == "stdio":
        await check_lives(tmp_path, {way: process(HOW=way, WHEN=stage) for way in WAYS})
    else:
        async with served(stage) as servers:
            await check_lives(tmp_path, servers)
    left = set(psutil.Process().children(recursive=True)) - before
    await eventually(lambda: not any(process.is_running() for process in left), "no process is left", 20)
    assert not [pid for pid in psutil.pids() if _is_wicked(pid)]


async def check_lives(place: Path, wicked: dict[str, dict[str, Any]]) -> None:
    """Conversations with a wicked server each, all at once beside one with a good one, come to a good end."""
    model = ScriptedLLM(turn)
    found: dict[str, list[Event]] = {}
    with anyio.fail_after(240):
        async with Runtime(place / "store", client=model) as runtime:

            async def one(name: str, server: dict[str, Any]) -> None:
                found[name] = await live(runtime, place / name, {"demo": server})

            async with anyio.create_task_group() as tasks:
                for way, server in wicked.items():
                    tasks.start_soon(one, way, {**server, "connect_timeout": 2, "timeout": 2})
                tasks.start_soon(one, "good", {**GOOD, "timeout": 2})
    for name, events in found.items():
        check_numbering(events)
        assert not fold(events).branch.pending, name
    for request in model.requests:
        check_answered(list(request.messages))
        assert "pydantic" not in str(request.messages), "errors are told in words of our own"
    said = [plain(event.content) for event in found["good"] if isinstance(event, ObservationEvent)]
    assert said.count("3") == said.count("4") == said.count("[resource notes://today]\nBuy milk.") == BATCHES, said
    assert "Review a.py" in str([plain(event.content) for event in found["good"] if isinstance(event, MessageEvent)])
    for name, events in found.items():
        offered = [tool.name for event in events if isinstance(event, ToolsChanged) for tool in event.tools]
        assert "as_task" not in offered, name


def _is_wicked(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        return "tests.mcp.wicked" in process.cmdline() and process.cwd() == str(ROOT)
    except psutil.Error:
        return False
