"""Tools that the holder of a conversation executes, whenever it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import LLM, Agent, AlwaysConfirm, ClientTool, Conversation, ExecutionStatus, Runtime
from agentrt.errors import ConfigurationError
from agentrt.events import AgentErrorEvent, Event, ObservationEvent, ToolResultRequested, ToolResultsAwaited
from agentrt.replaying import replay
from agentrt.specs import TextContent, ToolAnnotations
from agentrt.specs.content import plain
from agentrt.state import fold
from agentrt.testing import ScriptedLLM, call, calls, finish

from .proofs.waiting import eventually

pytestmark = pytest.mark.real

WAITS, FINISHED = ExecutionStatus.WAITING_FOR_CLIENT, ExecutionStatus.FINISHED
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
PRESS = ClientTool("press", "Press a button on the user's screen.", SCHEMA)


def agent(*tools: ClientTool, **more: Any) -> Agent:
    return Agent(llm=LLM(model="scripted"), tools=(), client_tools=tools or (PRESS,), **more)


async def events_of(conversation: Conversation) -> list[Event]:
    return [event async for event in conversation.events()]


def results(events: list[Event]) -> list[str]:
    return [plain(event.content) for event in events if isinstance(event, ObservationEvent)]


async def test_the_program_gives_results_and_the_agent_goes_on(tmp_path: Path) -> None:
    model = ScriptedLLM([calls(("press", {"label": "OK"}), ("think", {"thought": "hm"})), finish("ok")])
    async with Conversation(agent(), tmp_path, store="memory://", client=model) as conversation:
        await conversation.send_message("go")
        assert (await conversation.run()).status is WAITS
        assert [tool.name for tool in model.requests[0].tools] == ["press", "think", "finish"]
        assert b'"label"' in bytes(model.requests[0].tools[0].parameters)
        (waiting,) = conversation.pending_results
        assert bytes(waiting.action.arguments_json) == b'{"label":"OK"}'
        await conversation.give_result(waiting.action.id, [TextContent("pressed")])
        with pytest.raises(ConfigurationError, match="waits for a client's result here; nothing does"):
            await conversation.give_result(waiting.action.id, "again")
        assert (await conversation.run()).status is FINISHED
        events = await events_of(conversation)
    assert results(events)[:2] == ["Noted.", "pressed"]
    (given,) = [event for event in events if isinstance(event, ObservationEvent) and event.source == "user"]
    assert given.tool_call_id == waiting.action.tool_call_id
    assert fold(events).status is FINISHED
    done = await replay(events)
    assert done.difference is None, done.difference


async def test_it_waits_over_restarts_and_each_result_counts_once(tmp_path: Path) -> None:
    model = ScriptedLLM([calls(("press", {"label": "A"}), ("press", {"label": "B"})), finish("ok")])
    async with Runtime(tmp_path / "store", client=model) as runtime:
        async with Conversation(agent(), tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.send_message("go")
            await conversation.run()
    async with Runtime(tmp_path / "store", client=model) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            first, second = conversation.pending_results
            await conversation.give_result(second.action.id, "x" * 50_000)
            assert (await conversation.run()).status is WAITS
            assert conversation.pending_results == (first,)
    async with Runtime(tmp_path / "store", client=model) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            await conversation.give_result(first.action.id, "no such button", is_error=True)
            assert (await conversation.run()).status is FINISHED
            events = await events_of(conversation)
    requested = [event for event in events if isinstance(event, ToolResultRequested)]
    assert len(requested) == 2, "a restart asks for nothing again"
    long, failed, _ = (event for event in events if isinstance(event, ObservationEvent))
    assert len(plain(long.content)) < 45_000
    assert failed.is_error


@pytest.mark.parametrize("asleep", [False, True])
async def test_without_a_result_in_time_the_call_has_failed(tmp_path: Path, asleep: bool) -> None:
    model = ScriptedLLM([call("press", label="OK"), finish("ok")])
    spec = agent(ClientTool("press", "Press.", SCHEMA, deadline=0.05))
    with anyio.fail_after(20):
        async with Runtime(tmp_path / "store", client=model) as runtime:
            async with Conversation(spec, tmp_path, runtime=runtime, id="c") as conversation:
                await conversation.send_message("go")
                assert (await conversation.run()).status is WAITS
                if not asleep:
                    await eventually(lambda: conversation.state.status is FINISHED, "the end")
            async with Conversation(id="c", runtime=runtime) as conversation:
                if conversation.state.status is ExecutionStatus.PAUSED:  # its time was over as it was closed
                    await conversation.start_run()
                await eventually(lambda: conversation.state.status is FINISHED, "the end")
                events = await events_of(conversation)
    (failed,) = [event for event in events if isinstance(event, AgentErrorEvent)]
    assert failed.error == "The client gave no result in time: whether it took effect is unknown."
    done = await replay(events)
    assert done.difference is None, done.difference


async def test_an_interrupt_closes_the_call_and_a_message_waits(tmp_path: Path) -> None:
    model = ScriptedLLM([call("press", label="OK"), finish("ok")])
    async with Conversation(agent(), tmp_path, store="memory://", client=model) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        (waiting,) = conversation.pending_results
        await conversation.send_message("be quick")
        assert conversation.state.status is WAITS
        await conversation.pause()
        await conversation.start_run()
        assert (await conversation.run()).status is WAITS
        await conversation.interrupt()
        assert conversation.state.status is ExecutionStatus.PAUSED
        with pytest.raises(ConfigurationError, match="no action"):
            await conversation.give_result(waiting.action.id, "late")
        assert (await conversation.run()).status is FINISHED
        events = await events_of(conversation)
    (closed,) = [event for event in events if isinstance(event, AgentErrorEvent)]
    assert closed.error == "Without a result: the user interrupted."
    assert sum(isinstance(event, ToolResultsAwaited) for event in events) == 2


async def test_it_is_rated_and_asked_about_like_any_other(tmp_path: Path) -> None:
    model = ScriptedLLM([call("press", label="OK"), finish("ok")])
    spec = agent(confirmation=AlwaysConfirm())
    async with Conversation(spec, tmp_path, store="memory://", client=model) as conversation:
        await conversation.send_message("go")
        assert (await conversation.run()).status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        assert not conversation.pending_results
        await conversation.confirm()
        assert (await conversation.run()).status is WAITS
        await conversation.give_result(conversation.pending_results[0].action.id, "pressed")
        await conversation.confirm()
        await conversation.run()


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "a b"}, "invalid name"),
        ({"schema": {"type": "string"}}, "expected that of an object"),
        ({"deadline": 0}, "deadline"),
        ({"description": 3}, "description"),
    ],
)
def test_what_cannot_be_one_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ClientTool(**{"name": "press", "description": "Press.", **given})
    assert (
        ToolAnnotations(read_only=True) == ClientTool("a", "b", annotations=ToolAnnotations(read_only=True)).annotations
    )
