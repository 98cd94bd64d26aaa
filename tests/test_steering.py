"""Messages that come while the agent works, pauses and interrupts: what each does, and what stays in the log."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent, BusyPolicy, Conversation, ExecutionStatus, tool
from agentrt.context.replies import ModelReply
from agentrt.errors import ConfigurationError, ConversationBusy
from agentrt.events import AgentErrorEvent, Event, InterruptEvent, MessageEvent, ModelCalled, ObservationEvent
from agentrt.specs import AnyLLM
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, calls, finish, say
from agentrt.testing.scripted import Turn

from .steering import HeldModel, running

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=())


@tool
async def wait_for_ever() -> str:
    """Wait."""
    await anyio.sleep_forever()
    return "never"


@tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}!"


def of(kind: type[Event], events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def conversation(model: HeldModel, tmp_path: Path, agent: Agent = AGENT) -> Conversation:
    return Conversation(agent, tmp_path, tools=[greet, wait_for_ever], store=tmp_path / "store", client=model)


async def everything(live: Conversation) -> list[Event]:
    return [event async for event in live.events()]


async def run_with(live: Conversation, model: HeldModel, busy: str | None, turns: int = 1) -> list[Event]:
    """Run, say something while the model is held, and give the events at the end."""
    await live.send_message("Begin.")
    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            await live.run()

        tasks.start_soon(work)
        await model.calling()
        await live.send_message("Use the other file.", busy=busy)
        model.release()
    return await everything(live)


async def test_a_message_is_seen_before_the_next_model_call(tmp_path: Path) -> None:
    model = HeldModel([call("greet", name="Ada"), finish("Done.")])
    async with conversation(model, tmp_path) as live:
        events = await run_with(live, model, None)
    assert model.cut == 0
    assert "other file" not in model.seen(0)
    assert "other file" in model.seen(1)
    assert of(InterruptEvent, events) == []


async def test_a_steering_message_cuts_the_model_call_and_it_is_made_again_with_it(tmp_path: Path) -> None:
    model = HeldModel([finish("Done.")])
    async with conversation(model, tmp_path) as live:
        events = await run_with(live, model, "steer")
        assert live.state.status is ExecutionStatus.FINISHED
    assert model.cut == 1
    assert "other file" in model.seen(1)
    assert [e.error for e in events if isinstance(e, ModelCalled)] == ["interrupted", None]
    (partial,) = [e for e in events if isinstance(e, MessageEvent) and e.partial]
    assert plain(partial.content) == "I was about"


async def test_a_steering_message_lets_a_tool_end(tmp_path: Path) -> None:
    entered, opened = anyio.Event(), anyio.Event()

    @tool
    async def gate() -> str:
        """Wait."""
        entered.set()
        await opened.wait()
        return "through"

    model = HeldModel([call("gate"), finish("Done.")], held=())
    async with Conversation(AGENT, tmp_path, tools=[gate], store=tmp_path / "store", client=model) as live:
        await live.send_message("Begin.")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, live)
            await entered.wait()
            await live.send_message("And then?", busy="steer")
            opened.set()
        events = await everything(live)
    assert of(InterruptEvent, events) == []
    (seen,) = [e for e in events if isinstance(e, ObservationEvent) and e.tool_name == "gate"]
    assert plain(seen.content) == "through"
    assert "And then?" in model.seen(1)


async def _run(live: Conversation) -> None:
    await live.run()


async def test_an_interrupting_message_cuts_the_tool_and_the_agent_goes_on_with_it(tmp_path: Path) -> None:
    turns: list[Turn] = [calls(("wait_for_ever", {}), ("greet", {"name": "Ada"})), finish("Done.")]
    model = HeldModel(turns, held=())
    async with conversation(model, tmp_path) as live:
        await live.send_message("Begin.")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, live)
            async for event in live.stream():
                if getattr(event, "action_id", None) is not None:
                    break
            await live.send_message("Stop that.", busy=BusyPolicy.INTERRUPT)
        events = await everything(live)
        assert live.state.status is ExecutionStatus.FINISHED
    assert "Stop that." in model.seen(1)
    first, second = [e.error for e in events if isinstance(e, AgentErrorEvent)]
    assert {first.split(":")[0].split(" after")[0], second.split(":")[0].split(" after")[0]} == {
        "Not run",
        "Interrupted",
    }
    (cut,) = [e for e in events if isinstance(e, InterruptEvent)]
    assert cut.goes_on


async def test_a_message_that_is_rejected_leaves_no_trace(tmp_path: Path) -> None:
    model = HeldModel([finish("Done.")])
    agent = Agent(llm=LLM(model="scripted"), tools=(), busy=BusyPolicy.REJECT)
    async with conversation(model, tmp_path, agent) as live:
        with pytest.raises(ExceptionGroup) as raised:
            await run_with(live, model, None)
        assert raised.value.subgroup(ConversationBusy) is not None
        assert len(of(MessageEvent, [e for e in await everything(live) if e.source == "user"])) == 1
        await live.send_message("Now?", busy="enqueue")


async def test_the_policy_is_configuration_and_a_message_may_say_otherwise(tmp_path: Path) -> None:
    model = HeldModel([finish("Done.")])
    async with conversation(model, tmp_path) as live:
        await live.configure(busy=BusyPolicy.STEER)
        await run_with(live, model, None)
    assert model.cut == 1
    async with Conversation(id=live.id, tools=[greet, wait_for_ever], store=tmp_path / "store", client=model) as again:
        assert again.state.spec.busy is BusyPolicy.STEER
        with pytest.raises(ConfigurationError, match="nonsense"):
            await again.send_message("?", busy="nonsense")


@pytest.mark.parametrize("busy", BusyPolicy)
async def test_the_same_message_twice_counts_once_under_every_policy(tmp_path: Path, busy: BusyPolicy) -> None:
    model = HeldModel([finish("Done.")])
    async with conversation(model, tmp_path) as live:
        await live.send_message("Begin.", id="m1")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, live)
            await model.calling()
            before = live.state.seq
            await live.send_message("Begin.", id="m1", busy=busy)
            assert live.state.seq == before
            model.release()
    assert model.cut == 0


async def test_interrupting_messages_in_a_row_each_count(tmp_path: Path) -> None:
    model = HeldModel([finish("Done.")], held=(0, 1, 2))
    async with conversation(model, tmp_path) as live:
        await live.send_message("Begin.")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, live)
            for number in range(3):
                await model.calling()
                await live.send_message(f"No, number {number}.", busy="interrupt" if number % 2 else "steer")
        assert live.state.status is ExecutionStatus.FINISHED
    assert model.cut == 3
    assert all(f"number {number}" in model.seen() for number in range(3))


async def test_a_pause_takes_effect_before_the_next_command_and_stays(tmp_path: Path) -> None:
    model = HeldModel([call("greet", name="Ada"), finish("Done.")])
    async with conversation(model, tmp_path) as live:
        await live.send_message("Begin.")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, live)
            await model.calling()
            await live.pause()
            await live.send_message("More.", busy="interrupt")
            model.release()
        assert live.state.status is ExecutionStatus.PAUSED, "a message does not end a pause"
        assert len(model.requests) == 1
        (pending,) = live.state.branch.pending
        assert pending.command is None, "the tool was not begun"
        assert (await live.run()).status is ExecutionStatus.FINISHED
        outcomes = [e for e in await everything(live) if isinstance(e, ObservationEvent)]
        assert [plain(e.content) for e in outcomes] == ["Hello, Ada!", "Finished."]


@pytest.mark.simulated
async def test_a_change_that_cannot_be_is_refused_with_what_to_do(tmp_path: Path) -> None:
    async with conversation(HeldModel([]), tmp_path) as live:
        for changes in ({"tools": ()}, {"nothing": 1}, {"busy": "perhaps"}, {"analyzer": "nobody"}):
            before = live.state.seq
            with pytest.raises(ConfigurationError):
                await live.configure(**changes)
            assert live.state.seq == before


class Preparing(ScriptedLLM):
    """Takes its time to be prepared."""

    def __init__(self, *turns: ModelReply) -> None:
        super().__init__(turns)
        self.begun, self.go_on = anyio.Event(), anyio.Event()

    async def prepare(self, llm: AnyLLM) -> None:
        self.begun.set()
        await self.go_on.wait()


@pytest.mark.simulated
@pytest.mark.parametrize("stop", ["pause", "interrupt"])
async def test_who_stops_a_run_that_is_only_being_prepared_has_stopped_it(tmp_path: Path, stop: str) -> None:
    model = Preparing(say("Done."))
    agent = Agent(llm=LLM(model="scripted"), tools=())
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=model) as conversation:
        await conversation.send_message("Work.")
        async with running(conversation):
            await model.begun.wait()
            await (conversation.pause() if stop == "pause" else conversation.interrupt())
            model.go_on.set()
        assert model.requests == []
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
