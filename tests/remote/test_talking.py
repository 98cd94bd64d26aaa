"""Talking and working: the same tests for a conversation in this process and for one on a server."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial

import anyio
import msgspec
import pytest

from agentrt import LLM, Agent, Conversation, Cursor, Delta, ExecutionStatus, Tool, ToolError, tool
from agentrt.controls import SendMessage
from agentrt.errors import (
    ConfigurationError,
    ConversationExists,
    ConversationMissing,
    CursorExpired,
    EventRefused,
    MissingKey,
    ModelUnavailable,
    ToolMissing,
)
from agentrt.events import (
    ActionEvent,
    Condensation,
    Event,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ObservationEvent,
    PauseEvent,
    RunRequested,
)
from agentrt.specs import AnyLLM
from agentrt.specs.content import plain, text
from agentrt.specs.llm import named
from agentrt.state import fold
from agentrt.testing import ScriptedLLM, call, calls, finish, say
from agentrt.tools import output_schema
from tests.steering import HeldModel, running
from tests.test_streaming import Noisy, Slow, first_delta

from .places import At, everything

pytestmark = pytest.mark.real

MODEL = LLM(model="scripted")
AGENT = Agent(llm=MODEL, tools=(), checkpoints=False)
OTHER = Agent(llm=MODEL, tools=(), system_prompt="Be kind.")
GREETER = Agent(llm=MODEL, tools=(Tool("greet"),), checkpoints=False)
DONE = ExecutionStatus.FINISHED


@tool
async def greet(name: str) -> str:
    """Greet someone."""
    if name == "Nobody":
        raise ToolError("there is nobody")
    return f"Hello, {name}!"


class Report(msgspec.Struct):
    """What was done."""

    summary: str
    files: int


async def answered(conversation: Conversation) -> MessageEvent:
    """What the agent says first."""
    async for event in conversation.stream():
        if isinstance(event, MessageEvent) and event.source == "agent":
            return event
    raise AssertionError("it said nothing")


async def test_a_conversation_runs_to_its_end(at: At) -> None:
    client = ScriptedLLM([call("greet", "I greet.", name="Ada"), finish("Greeted.")])
    async with at(client, tools=[greet]) as place, place.begin(GREETER) as conversation:
        await conversation.send_message("Greet Ada.")
        events = [event async for event in conversation.run()]
        assert conversation.state.status is DONE
        assert [type(event).__name__ for event in events] == [
            "RunRequested",
            *("ModelCallStarted", "ModelCalled", "ActionEvent", "ExecutionStarted", "ObservationEvent") * 2,
            "RunEnded",
        ]
        assert [event.seq for event in await everything(conversation)] == list(range(1, len(events) + 4))
    assert plain(client.requests[1].messages[-1].content) == "Hello, Ada!"


async def test_its_state_is_the_fold_of_its_events(at: At) -> None:
    client = ScriptedLLM([calls(("greet", {"name": "Ada"}), ("greet", {"name": "Nobody"})), finish("Done.")])
    async with at(client, tools=[greet]) as place, place.begin(GREETER) as conversation:
        await conversation.send_message("go")
        state = await conversation.run()
        events = await everything(conversation)
        assert state == conversation.state == fold(events)
        assert conversation.cursor == Cursor(0, len(events))
        assert [plain(e.content) for e in events if isinstance(e, ObservationEvent) and e.is_error] == [
            "there is nobody"
        ]
        assert list(await conversation.page(2, 3)) == events[2:5]
        assert list(await conversation.page(len(events) - 1, 9)) == events[-1:]


async def test_leaving_the_iteration_does_not_affect_the_run(at: At) -> None:
    client = ScriptedLLM([call("greet", name="Ada"), call("greet", name="Bob"), finish("Done.")])
    async with at(client, tools=[greet]) as place, place.begin(GREETER) as conversation:
        await conversation.send_message("go")
        async with aclosing(aiter(conversation.run())) as run:  # type: ignore[type-var]
            assert isinstance(await anext(run), RunRequested)
        async for event in conversation.stream():
            if isinstance(event, ObservationEvent) and event.tool_name == "finish":
                break
        assert conversation.state.status is DONE


async def test_a_conversation_is_reopened_by_its_id_alone(at: At) -> None:
    client = ScriptedLLM([say("One."), say("Two.")])
    async with at(client) as place:
        async with place.begin(AGENT) as conversation:
            await conversation.send_message("first")
            await conversation.run()
            before, name = await everything(conversation), conversation.id
        async with place.reopen(name) as conversation:
            assert (await everything(conversation))[: len(before)] == before
            assert conversation.state.status is DONE
            await conversation.send_message("second")
            await conversation.run()
    said = [plain(message.content) for message in client.requests[1].messages[1:]]
    assert said == ["first", "One.", "second"]


async def test_the_same_message_twice_counts_once(at: At) -> None:
    client = ScriptedLLM([say("Hello.")])
    async with at(client) as place, place.begin(AGENT) as conversation:
        for _ in range(3):
            await conversation.send_message("hi", id="m1")
        await conversation.send_message(text("and this"))
        await conversation.run()
        assert [plain(m.content) for m in client.requests[0].messages[1:]] == ["hi", "and this"]


async def test_a_control_says_and_runs_at_once(at: At) -> None:
    async with at(ScriptedLLM([say("Hello.")])) as place, place.begin(AGENT) as conversation:
        await conversation.do(SendMessage("hi", run=True))
        assert plain((await answered(conversation)).content) == "Hello."


async def test_a_run_is_begun_and_not_waited_for(at: At) -> None:
    model = HeldModel([say("Hello.")])
    async with at(model) as place, place.begin(AGENT) as conversation:
        await conversation.send_message("hi")
        await conversation.start_run()
        assert conversation.state.status is ExecutionStatus.RUNNING
        await model.calling()
        model.release()
        assert plain((await answered(conversation)).content) == "Hello."


async def test_deltas_come_between_and_name_what_they_become(at: At) -> None:
    client = ScriptedLLM([say("Hello there.")])
    async with at(client) as place, place.begin(AGENT) as conversation:
        await conversation.send_message("hi")
        items = [item async for item in conversation.run().stream()]
        (answer,) = [item for item in items if isinstance(item, MessageEvent)]
        deltas = [item for item in items if isinstance(item, Delta)]
        assert {delta.becomes for delta in deltas} <= {answer.id}
        assert all(items.index(delta) < items.index(answer) for delta in deltas)
        assert plain(answer.content).startswith("".join(delta.text for delta in deltas).strip())


async def test_a_late_subscriber_gets_the_draft_so_far_and_then_the_event_in_its_place(at: At) -> None:
    model = Slow(("text", "Hello,"), ("text", " you."))
    async with at(model) as place, place.begin(AGENT) as conversation:
        await conversation.send_message("go")
        async with running(conversation):
            await model.waits.wait()
            text = ""
            async with aclosing(conversation.stream(0)) as stream:  # type: ignore[type-var]
                while text != "Hello, you.":
                    delta = await first_delta(stream)
                    text = text[: delta.start] + delta.text
            async with aclosing(conversation.stream(conversation.cursor)) as stream:  # type: ignore[type-var]
                draft = await first_delta(stream)
                assert (draft.start, draft.text) == (0, "Hello, you.")
                model.go_on.set()
                called, answer = await anext(stream), await anext(stream)
        assert isinstance(called, ModelCalled)
        assert isinstance(answer, MessageEvent)
        assert (draft.becomes, plain(answer.content)) == (answer.id, "Hello, you. The end.")


async def test_output_of_a_tool_streams_until_its_result(at: At) -> None:
    noisy, output = Noisy(), ""
    client = ScriptedLLM([call("noisy"), finish("Done.")])
    agent = Agent(llm=MODEL, tools=(Tool("noisy"),))
    async with at(client, tools=[noisy.tool]) as place, place.begin(agent) as conversation:
        await conversation.send_message("go")
        async for item in conversation.run().stream():
            if isinstance(item, Delta) and item.channel == "output":
                output = output[: item.start] + item.text
                if output == "one\ntwo\n":
                    noisy.go_on.set()
        assert output == "one\ntwo\n"
        assert conversation.state.status is DONE


@pytest.mark.parametrize(("busy", "cut"), [(None, 0), ("steer", 1), ("interrupt", 1)])
async def test_what_is_said_meanwhile_is_seen_as_its_policy_says(at: At, busy: str | None, cut: int) -> None:
    model = HeldModel([call("greet", name="Ada"), finish("Done.")] if not cut else [finish("Done.")])
    async with at(model, tools=[greet]) as place, place.begin(GREETER) as conversation:
        await conversation.send_message("Begin.")
        async with running(conversation):
            await model.calling()
            await conversation.send_message("Use the other file.", busy=busy)
            model.release()
        assert conversation.state.status is DONE
    assert model.cut == cut
    assert "other file" not in model.seen(0)
    assert "other file" in model.seen(1)


async def test_pause_lets_what_runs_end_and_begins_nothing(at: At) -> None:
    model = HeldModel([call("greet", name="Ada"), finish("Done.")])
    async with at(model, tools=[greet]) as place, place.begin(GREETER) as conversation:
        await conversation.send_message("go")
        async with running(conversation):
            await model.calling()
            await conversation.pause()
            assert conversation.state.status is ExecutionStatus.PAUSED
            model.release()
        assert conversation.state.status is ExecutionStatus.PAUSED
        events = await everything(conversation)
        assert any(isinstance(event, PauseEvent) for event in events)
        assert any(isinstance(event, ActionEvent) for event in events)
        assert len(model.requests) == 1
        assert (await conversation.run()).status is DONE


async def test_an_interrupt_keeps_what_the_model_said_so_far(at: At) -> None:
    model = HeldModel([finish("Done.")])
    async with at(model) as place, place.begin(AGENT) as conversation:
        await conversation.send_message("go")
        async with running(conversation):
            await model.calling()
            await conversation.interrupt("enough")
        events = await everything(conversation)
        assert [e.reason for e in events if isinstance(e, InterruptEvent)] == ["enough"]
        assert [plain(e.content) for e in events if isinstance(e, MessageEvent) and e.partial] == ["I was about"]
        assert model.cut == 1
        assert (await conversation.run()).status is DONE


async def test_a_failed_model_call_ends_the_run_and_running_again_goes_on(at: At) -> None:
    client = ScriptedLLM([ModelUnavailable("the line was cut"), say("Hello.")])
    async with at(client) as place, place.begin(AGENT) as conversation:
        await conversation.send_message("hi")
        state = await conversation.run()
        assert (state.status, state.error and state.error.code) == (ExecutionStatus.ERROR, "unavailable")
        assert (await conversation.run()).status is DONE


async def test_rewinding_forgets_for_the_model_and_not_in_the_log(at: At) -> None:
    client = ScriptedLLM([say("One."), say("Two.")])
    async with at(client) as place, place.begin(AGENT) as conversation:
        await conversation.send_message("one")
        await conversation.run()
        with pytest.raises(EventRefused):
            await conversation.rewind(99)
        await conversation.rewind(2)
        await conversation.send_message("instead")
        await conversation.run()
        assert [plain(m.content) for m in client.requests[1].messages[1:]] == ["instead"]
        assert "one" in [plain(e.content) for e in await everything(conversation) if isinstance(e, MessageEvent)]


async def test_a_fork_goes_its_own_way(at: At) -> None:
    client = ScriptedLLM([say("one"), say("two"), say("another two")])
    async with at(client) as place, place.begin(AGENT, id="trunk") as trunk:
        await trunk.send_message("first")
        await trunk.run()
        cursor = trunk.cursor
        await trunk.send_message("second")
        await trunk.run()
        async with await trunk.fork(cursor, id="twig") as twig:
            assert twig.id == "twig"
            await twig.send_message("second, differently")
            assert (await twig.run()).status is DONE
            own = await everything(twig)
            assert [event.seq for event in own] == list(range(1, twig.state.seq + 1))
        assert own[: cursor.seq] == (await everything(trunk))[: cursor.seq]
        with pytest.raises(ConversationExists):
            await trunk.fork(id="twig")
        with pytest.raises(CursorExpired):
            await trunk.fork(99)
        async with await trunk.fork(title="Whole", tags={"a": "1"}, agent=OTHER) as whole:
            assert whole.id not in ("trunk", "twig")
            assert (whole.state.ledger.title, whole.state.ledger.tags) == ("Whole", {"a": "1"})
            assert whole.state.spec.system_prompt == "Be kind."
            assert whole.answer == "two"
    assert [plain(m.content) for m in client.requests[2].messages[1:]] == ["first", "one", "second, differently"]


async def test_a_summary_takes_the_place_of_what_was_said(at: At) -> None:
    client = ScriptedLLM([*(say(f"Answer {n}.") for n in range(4)), say("The summary."), say("And on.")])
    async with at(client) as place, place.begin(AGENT) as conversation:
        for n in range(4):
            await conversation.send_message(f"question {n}")
            await conversation.run()
        await conversation.condense()
        await conversation.send_message("and now?")
        assert (await conversation.run()).status is DONE
        assert any(isinstance(event, Condensation) for event in await everything(conversation))


async def test_what_was_finished_has_its_shape(at: At) -> None:
    good = {"summary": "Mended.", "files": 3}
    agent = Agent(llm=MODEL, tools=(), output=output_schema(Report))
    async with at(ScriptedLLM([call("finish", message="Done.", output=good)])) as place:
        async with place.begin(agent) as conversation:
            await conversation.send_message("Mend it.")
            assert await conversation.output(Report) is None
            await conversation.run()
            assert await conversation.output(Report) == Report("Mended.", 3)


async def test_files_are_written_where_it_works(at: At) -> None:
    agent = Agent(llm=MODEL, tools=(Tool("terminal"),))
    async with at(ScriptedLLM([call("terminal", command="echo hello > made.txt; pwd"), say("Done.")])) as place:
        async with place.begin(agent) as conversation:
            await conversation.send_message("go")
            await conversation.run()
        assert (place.workspace / "made.txt").read_text() == "hello\n"


async def test_a_place_that_is_not_there_is_refused(at: At) -> None:
    async with at(ScriptedLLM([])) as place:
        with pytest.raises(ConversationMissing):
            await place.reopen("nobody").__aenter__()
        async with place.begin(AGENT, id="c") as conversation:
            with pytest.raises(ConversationExists):
                await place.begin(AGENT, id="c").__aenter__()
            with pytest.raises(CursorExpired, match="ends with"):
                conversation.events(7)
            with pytest.raises(CursorExpired):
                await anext(conversation.stream(Cursor(1, 1)))
        with pytest.raises(ConfigurationError, match="async with"):
            await place.begin(AGENT).send_message("hi")
        with pytest.raises(ConfigurationError, match="async with"):
            _ = place.begin(AGENT).id
        with pytest.raises(ConfigurationError, match="unknown security analyzer 'oracle'"):
            await place.begin(Agent(llm=MODEL, analyzer="oracle")).__aenter__()
        with pytest.raises(ToolMissing) as missing:
            await place.begin(Agent(llm=MODEL, tools=(Tool("dance"),))).__aenter__()
        assert (missing.value.name, "terminal" in missing.value.known) == ("dance", True)


class Keyless(ScriptedLLM):
    """A model that nobody gave a key for."""

    async def prepare(self, llm: AnyLLM) -> None:
        raise MissingKey(named(llm), ("SOME_API_KEY",))


async def test_what_is_missing_is_told_as_what_it_is(at: At) -> None:
    async with at(Keyless([])) as place, place.begin(AGENT) as conversation:
        await conversation.send_message("hi")
        seq = conversation.state.seq
        for asked in (conversation.start_run, partial(conversation.switch_llm, MODEL)):
            with pytest.raises(MissingKey, match="set SOME_API_KEY in the environment") as missing:
                await asked()
            assert (missing.value.model, missing.value.variables) == ("scripted", ("SOME_API_KEY",))
        assert conversation.state.seq == seq


async def test_followers_end_with_it(at: At) -> None:
    seen: list[Event | Delta] = []
    async with at(ScriptedLLM([say("Hello.")])) as place, anyio.create_task_group() as tasks:
        async with place.begin(AGENT) as conversation:

            async def follow(conversation: Conversation) -> None:
                seen.extend([item async for item in conversation.stream() if not isinstance(item, Delta)])

            tasks.start_soon(follow, conversation)
            await conversation.send_message("hi")
            await conversation.run()
            events = await everything(conversation)
    assert seen[: len(events)] == events
