"""Servers that do wrong whatever there is to be done, all at once beside a good one: conversations live through it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime
from agentrt.context.messages import Message
from agentrt.events import Event, ObservationEvent
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.state import fold
from agentrt.testing import ScriptedLLM, calls, finish
from agentrt.testing.scripted import Turn
from tests.mcp.serving import ROOT

from .evidence import check_numbering
from .waiting import eventually

pytestmark = pytest.mark.proof

STAGES = ("server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call")
WAYS = ("die", "die_after", "half", "garbage", "wrong", "hang", "flood", "huge", "refuse", "change")
BATCHES = 3


def turn(request: ModelRequest) -> Turn:
    """Three batches of calls, then the end."""
    batches = sum(bool(message.tool_calls) for message in request.messages)
    both: Any = (("add", {"a": 1, "b": 2}), ("other", {}), ("add", {"a": 2, "b": 2}))
    return calls(*both) if batches < BATCHES else finish("lived")


def server(module: str, **env: str) -> dict[str, Any]:
    command = {"command": sys.executable, "args": ["-m", module], "cwd": str(ROOT), "env": env}
    return {**command, "connect_timeout": 5 if module == "tests.mcp.server" else 2, "timeout": 2}


async def live(runtime: Runtime, place: Path, servers: dict[str, Any]) -> list[Event]:
    """The events of a conversation that has come to its end."""
    place.mkdir()
    spec = Agent(llm=LLM(model="scripted"), tools=(), mcp_servers=servers, stuck=None)
    async with Conversation(spec, place, runtime=runtime) as conversation:
        await conversation.send_message("Go on.")
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


@pytest.mark.parametrize("stage", STAGES)
async def test_all_live_and_the_good_one_notices_nothing(tmp_path: Path, stage: str) -> None:
    before = set(psutil.Process().children(recursive=True))
    model = ScriptedLLM(turn)
    found: dict[str, list[Event]] = {}
    with anyio.fail_after(240):
        async with Runtime(tmp_path / "store", client=model) as runtime:

            async def one(name: str, servers: dict[str, Any]) -> None:
                found[name] = await live(runtime, tmp_path / name, servers)

            async with anyio.create_task_group() as tasks:
                for way in WAYS:
                    tasks.start_soon(one, way, {"bad": server("tests.mcp.wicked", HOW=way, WHEN=stage)})
                tasks.start_soon(one, "good", {"demo": server("tests.mcp.server")})
    for name, events in found.items():
        check_numbering(events)
        assert not fold(events).branch.pending, name
    for request in model.requests:
        check_answered(list(request.messages))
    said = [plain(event.content) for event in found["good"] if isinstance(event, ObservationEvent)]
    assert said.count("3") == said.count("4") == BATCHES, said
    left = set(psutil.Process().children(recursive=True)) - before
    await eventually(lambda: not any(process.is_running() for process in left), "no process is left", 20)
    assert not [pid for pid in psutil.pids() if _is_wicked(pid)]


def _is_wicked(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        return "tests.mcp.wicked" in process.cmdline() and process.cwd() == str(ROOT)
    except psutil.Error:
        return False
