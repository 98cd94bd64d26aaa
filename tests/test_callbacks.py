"""A program's function gets each event of a conversation; the program and the runtime have words for themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, Runtime, Tool
from agentrt.errors import ConfigurationError, ConversationMissing
from agentrt.events import ActionEvent, Event, ObservationEvent
from agentrt.testing import ScriptedLLM, call, finish

pytestmark = pytest.mark.simulated

AGENT = Agent(LLM("scripted"), tools=(Tool("task_tracker"),))


def runtime_in(directory: Path) -> Runtime:
    turns = [call("task_tracker", command="view"), finish("Done."), finish("Again.")]
    return Runtime(directory / "store", client=ScriptedLLM(turns))


async def test_each_event_is_told_once_and_in_order(tmp_path: Path) -> None:
    async with runtime_in(tmp_path) as runtime:
        seen, later = list[Event](), list[Event]()
        async with Conversation(AGENT, tmp_path, runtime=runtime, on_event=seen.append) as conversation:
            assert await conversation.prompt("go") == "Done."
            logged = [event async for event in conversation.events()]
        assert seen[: len(logged)] == logged

        async def note(event: Event) -> None:
            await anyio.lowlevel.checkpoint()
            later.append(event)

        async with Conversation(id=conversation.id, runtime=runtime, on_event=note) as conversation:
            assert await conversation.prompt("go on") == "Again."
            last = conversation.state.seq
        numbers = [event.seq for event in later if event.seq <= last]
        assert numbers == list(range(numbers[0], last + 1))
        assert numbers[0] > len(logged), "what had happened before it was reopened is not told again"


def own(directory: Path) -> dict[str, Any]:
    """What a conversation takes that makes its own runtime."""
    turns = [call("task_tracker", command="view"), finish("Done.")]
    return {"store": directory / "store", "client": ScriptedLLM(turns)}


async def test_a_conversation_with_a_runtime_of_its_own_tells_its_events(tmp_path: Path) -> None:
    seen = list[Event]()
    async with Conversation(AGENT, tmp_path, on_event=seen.append, **own(tmp_path)) as conversation:
        assert await conversation.prompt("go") == "Done."
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    with pytest.raises(LookupError, match="mine"):
        async with Conversation(AGENT, tmp_path, on_event=print, **own(tmp_path)):
            raise LookupError("mine")

    def fail(event: Event) -> None:
        raise LookupError(f"no {event.seq}")

    with pytest.raises(LookupError, match="no 1"):
        async with Conversation(AGENT, tmp_path, on_event=fail, **own(tmp_path)):
            await anyio.sleep_forever()


async def test_a_conversation_that_cannot_be_entered_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConversationMissing):
        async with Conversation(id="missing", on_event=print, **own(tmp_path)):
            pass


async def test_an_error_of_the_function_leaves_the_conversation(tmp_path: Path) -> None:
    async with runtime_in(tmp_path) as runtime:

        def fail(event: Event) -> None:
            raise LookupError(f"no {event.seq}")

        with pytest.raises(LookupError, match="no 1"):
            async with Conversation(AGENT, tmp_path, runtime=runtime, on_event=fail):
                await anyio.sleep_forever()


async def test_an_error_of_the_body_is_its_own(tmp_path: Path) -> None:
    async with runtime_in(tmp_path) as runtime:
        with pytest.raises(LookupError, match="mine"):
            async with Conversation(AGENT, tmp_path, runtime=runtime, on_event=print):
                raise LookupError("mine")


async def test_what_is_no_function_is_refused(tmp_path: Path) -> None:
    async with runtime_in(tmp_path) as runtime:
        with pytest.raises(ConfigurationError, match="expected a function, got list"):
            Conversation(AGENT, tmp_path, runtime=runtime, on_event=[print])  # type: ignore[arg-type]


async def test_a_conversation_and_a_run_say_what_they_are(tmp_path: Path) -> None:
    async with runtime_in(tmp_path) as runtime:
        conversation = Conversation(AGENT, tmp_path, runtime=runtime)
        assert repr(conversation) == "<Conversation not entered>"
        assert "was not entered" in repr(conversation.run())
        async with conversation:
            assert repr(conversation) == f"<Conversation {conversation.id} idle, 2 events>"
            assert "iterate with 'async for'" in repr(conversation.run())
            with pytest.raises(ConfigurationError, match="async for"):
                for _ in conversation.run():
                    pass


async def test_arguments_and_details_are_values(tmp_path: Path) -> None:
    async with runtime_in(tmp_path) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
            await conversation.prompt("go")
            events = [event async for event in conversation.events()]
        action = next(event for event in events if isinstance(event, ActionEvent))
        assert action.arguments["command"] == "view"
        assert bytes(action.arguments_json) == b'{"command":"view"}'
        assert action.arguments is action.arguments, "it is decoded once"
        with pytest.raises(TypeError):
            action.arguments["command"] = "plan"  # type: ignore[index]
        results = [event for event in events if isinstance(event, ObservationEvent)]
        assert results[0].details == {"task_list": []}
        results[0].details["task_list"].append("mine")
        assert results[0].details == {"task_list": []}, "a change of a value changes no event"
