"""Conversations of every kind, recorded with the real runtime and replayed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from agentrt import LLM, Agent, ConfirmRisky, Conversation, ExecutionStatus, Limits, Runtime, tool
from agentrt.context.messages import ToolCall
from agentrt.context.replies import ModelReply
from agentrt.decisions import recovery
from agentrt.errors import ContextWindowExceeded, ModelUnavailable
from agentrt.events import (
    ActionEvent,
    AgentErrorEvent,
    Condensation,
    ConversationCreated,
    DurabilityChanged,
    Event,
    ExecutionLost,
    ExecutionStarted,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ModelCallStarted,
    ObservationEvent,
    ResourceLost,
    RiskAssessed,
    SystemPromptEvent,
)
from agentrt.protocols import ModelClient, ModelRequest, Watch
from agentrt.replaying import replay
from agentrt.specs import AnyLLM, Capabilities, Durability, SecurityRisk
from agentrt.state import fold
from agentrt.storage import read_conversation
from agentrt.storage.framing import scan
from agentrt.testing import ScriptedLLM, call, calls, finish, say
from agentrt.tools import ToolType
from tests.crashed import crashed
from tests.steering import running

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=())
GATED = Agent(llm=LLM(model="scripted"), tools=(), analyzer="rules", confirmation=ConfirmRisky())
PARALLEL = Agent(llm=LLM(model="scripted"), tools=(), limits=Limits(tool_concurrency=3))


@tool
async def greet(name: str) -> str:
    """Greet someone."""
    if name == "nobody":
        raise LookupError("nobody is there")
    return f"Hello, {name}!"


class Gate:
    """A tool that waits until it is let through, and a model that waits in the middle of its answer."""

    def __init__(self) -> None:
        self.entered, self.open = anyio.Event(), anyio.Event()

    async def prepare(self, llm: AnyLLM) -> None:
        """Nothing to load."""

    def known(self, llm: LLM) -> Capabilities:
        return Capabilities()

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        watch.show("text", "The first half")
        self.entered.set()
        await self.open.wait()
        return say("The first half and the second.")

    def tool(self, name: str = "gate") -> ToolType:
        @tool(name=name, resources=lambda action, workspace: ())
        async def gate() -> str:
            """Wait."""
            self.entered.set()
            await self.open.wait()
            return f"through {name}"

        return gate


class Recorder:
    """A place where conversations are recorded."""

    def __init__(self, place: Path) -> None:
        self.workspace, self.store = place / "work", place / "store"
        self.workspace.mkdir()

    def conversation(
        self,
        client: ModelClient,
        tools: Sequence[ToolType] = (greet,),
        agent: Agent | None = AGENT,
        store: Path | None = None,
    ) -> Conversation:
        return Conversation(agent, self.workspace, id="c", tools=tools, store=store or self.store, client=client)

    def events(self, store: Path | None = None) -> list[Event]:
        return read_conversation((store or self.store) / "conversations" / "c")

    async def simple(self, *turns: ModelReply | Exception, agent: Agent = AGENT) -> list[Event]:
        """One message, and a run of these turns."""
        script = ScriptedLLM(turns)  # type: ignore[arg-type]
        async with self.conversation(script, agent=agent) as conversation:
            await conversation.send_message("Greet Ada.")
            await conversation.run()
        return self.events()


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


async def same(events: list[Event], *tools: ToolType) -> None:
    """Replaying gives the same events."""
    done = await replay(events, tools)
    assert done.difference is None
    assert done.events == len(events)


async def test_a_run_with_tools_and_an_end(recorder: Recorder) -> None:
    events = await recorder.simple(call("greet", "I greet.", name="Ada"), say("Hm."), agent=AGENT)
    await same(events, greet)
    assert (await replay(events, [greet])).calls == 2


async def test_the_workspace_need_not_be_there_any_more(recorder: Recorder) -> None:
    events = await recorder.simple(call("greet", name="Ada"), finish("Done."))
    shutil.rmtree(recorder.workspace)
    await same(events, greet)


async def test_a_tool_without_implementation_is_taken_from_the_log(recorder: Recorder) -> None:
    events = await recorder.simple(call("greet", name="Ada"), call("greet", nme="Ada"), finish("Done."))
    done = await replay(events)
    assert (done.difference, done.from_log) == (None, ("greet",))


async def test_calls_that_cannot_run_and_tools_that_fail(recorder: Recorder) -> None:
    broken = ModelReply(tool_calls=(ToolCall("x", "greet", '{"name": '), ToolCall("y", "nothing", "{}")))
    events = await recorder.simple(
        broken, call("greet", other=1), call("greet", name="nobody"), ModelReply(), finish("Done.")
    )
    assert sum(isinstance(event, AgentErrorEvent) for event in events) == 4
    await same(events, greet)
    await same(events)


async def test_calls_side_by_side(recorder: Recorder) -> None:
    """The last that was begun ends first."""
    gates = [Gate() for _ in range(3)]
    tools = [gate.tool(f"gate_{n}") for n, gate in enumerate(gates)]
    script = ScriptedLLM([calls(*((kind.name, {}) for kind in tools)), say("All through.")])
    async with recorder.conversation(script, tools, PARALLEL) as conversation:
        await conversation.send_message("Go.")
        async with running(conversation):
            for gate in gates:
                await gate.entered.wait()
            for number, gate in enumerate(reversed(gates), 1):
                gate.open.set()
                await _wait(conversation, ObservationEvent, number)
    events = recorder.events()
    assert [event.tool_name for event in events if isinstance(event, ObservationEvent)] == [
        "gate_2",
        "gate_1",
        "gate_0",
    ]
    await same(events, *tools)
    await same(events)


async def test_messages_that_came_while_it_ran(recorder: Recorder) -> None:
    gate = Gate()
    async with recorder.conversation(ScriptedLLM([call("gate"), say("Yes.")]), [gate.tool()]) as conversation:
        await conversation.send_message("Go.")
        async with running(conversation):
            await gate.entered.wait()
            await conversation.send_message("And this.")
            await conversation.pause()
            gate.open.set()
        await conversation.run()
    await same(recorder.events())


@pytest.mark.parametrize("cut", ["model", "tool"])
async def test_interrupts(recorder: Recorder, cut: str) -> None:
    gate = Gate()
    client = gate if cut == "model" else ScriptedLLM([calls(("gate", {}), ("gate", {}))])
    async with recorder.conversation(client, [gate.tool()]) as conversation:
        await conversation.send_message("Go.")
        async with running(conversation):
            await gate.entered.wait()
            await conversation.interrupt("stop it")
    async with recorder.conversation(ScriptedLLM([say("As you like.")]), [gate.tool()], agent=None) as conversation:
        await conversation.send_message("Go on.")
        await conversation.run()
    events = recorder.events()
    assert any(isinstance(event, InterruptEvent) for event in events)
    assert any(isinstance(event, MessageEvent) and event.partial for event in events) is (cut == "model")
    await same(events)


async def test_an_interrupt_of_several_calls(recorder: Recorder) -> None:
    gates = [Gate() for _ in range(3)]
    tools = [gate.tool(f"gate_{n}") for n, gate in enumerate(gates)]
    script = ScriptedLLM([calls(*((kind.name, {}) for kind in tools))])
    async with recorder.conversation(script, tools, PARALLEL) as conversation:
        await conversation.send_message("Go.")
        async with running(conversation):
            for gate in gates:
                await gate.entered.wait()
            await conversation.interrupt()
    events = recorder.events()
    assert sum(isinstance(event, AgentErrorEvent) for event in events) == 3
    place = [n for n, event in enumerate(events) if isinstance(event, AgentErrorEvent)]
    first, last = events[place[0]], events[place[-1]]
    events[place[0]], events[place[-1]] = replace(last, seq=first.seq), replace(first, seq=last.seq)
    await same(events)  # they may end in any order


async def test_confirmations_and_refusals(recorder: Recorder) -> None:
    script = ScriptedLLM(
        [
            calls(("greet", {"name": "a"}), ("greet", {"name": "b"}), ("greet", {"name": "c"})),
            calls(("greet", {"name": "d"}), ("greet", {"name": "e"})),
            say("Done."),
        ]
    )
    async with recorder.conversation(script, agent=GATED) as conversation:
        await conversation.send_message("Go.")
        await conversation.run()
        first, *_ = conversation.pending_confirmation
        await conversation.reject("not this one", first.action.id)
        await conversation.confirm()
        await conversation.run()
        await conversation.reject("neither of them")
        await conversation.run()
    events = recorder.events()
    assert sum(isinstance(event, RiskAssessed) for event in events) == 5
    await same(events, greet)


async def test_model_errors_condensation_and_limits(recorder: Recorder) -> None:
    greetings = [call("greet", name=str(number)) for number in range(6)]
    events = await recorder.simple(
        *greetings, ContextWindowExceeded("too long"), call("greet", name="Ada"), ModelUnavailable("gone")
    )
    assert any(isinstance(event, Condensation) for event in events)
    await same(events, greet)


async def test_a_limit_of_steps(recorder: Recorder) -> None:
    limited = replace(AGENT, limits=Limits(max_steps=2))
    events = await recorder.simple(call("greet", name="a"), call("greet", name="b"), agent=limited)
    await same(events, greet)


async def test_a_limit_of_time(recorder: Recorder) -> None:
    gate = Gate()
    agent = replace(AGENT, limits=Limits(max_seconds=0.05))
    script = ScriptedLLM([call("gate"), finish("Done.")])
    async with recorder.conversation(script, [gate.tool()], agent) as conversation:
        await conversation.send_message("go")
        assert (await conversation.run()).status is ExecutionStatus.ERROR
    await same(recorder.events(), gate.tool())


async def test_a_budget_and_a_grant(recorder: Recorder) -> None:
    priced = LLM(model="scripted", input_cost_per_token=1e-6, output_cost_per_token=1e-5)
    agent = replace(AGENT, llm=priced, limits=Limits(max_cost=0.0001))
    async with recorder.conversation(ScriptedLLM([say("Hi.")]), agent=agent) as conversation:
        await conversation.send_message("go")
        assert (await conversation.run()).status is ExecutionStatus.ERROR
        await conversation.grant(1.0)
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
    await same(recorder.events(), greet)


async def test_rewinds(recorder: Recorder) -> None:
    async with recorder.conversation(ScriptedLLM([call("greet", name="a"), say("One."), say("Two.")])) as conversation:
        cursor = await conversation.send_message("Go.")
        await conversation.run()
        await conversation.rewind(cursor.seq)
        await conversation.send_message("Otherwise.")
        await conversation.run()
    await same(recorder.events(), greet)


@pytest.mark.parametrize("on", ["model", "tool"])
async def test_what_another_process_went_on_with_after_a_crash(recorder: Recorder, tmp_path: Path, on: str) -> None:
    """The log is copied in the middle of the run, as a crash would leave it."""
    gate = Gate()
    client: ModelClient = gate if on == "model" else ScriptedLLM([call("greet", name="Ada"), call("gate")])
    tools = [greet, gate.tool()]
    async with recorder.conversation(client, tools) as conversation:
        await conversation.send_message("Go.")
        async with running(conversation):
            await gate.entered.wait()
            copy = crashed(recorder.store, tmp_path / "crashed")
            gate.open.set()
            await conversation.interrupt()
    script = ScriptedLLM([call("greet", name="Bo"), say("Done.")])
    async with recorder.conversation(script, tools, None, copy) as conversation:
        await conversation.run()
    events = recorder.events(copy)
    kinds = (ModelCalled, AgentErrorEvent, ExecutionLost)
    assert any(isinstance(event, kinds) and ("died" in repr(event) or "crashed" in repr(event)) for event in events)
    await same(events)


async def test_a_terminal_that_was_lost_between_two_processes(recorder: Recorder) -> None:
    agent = Agent(llm=LLM(model="scripted"))
    async with recorder.conversation(ScriptedLLM([call("terminal", command="cd /")]), agent=agent) as conversation:
        await conversation.send_message("Go.")
        await conversation.run()
    async with recorder.conversation(ScriptedLLM([finish("Done.")]), agent=None) as conversation:
        await conversation.run()
    events = recorder.events()
    assert any(isinstance(event, ResourceLost) for event in events)
    await same(events)


async def test_changes_of_durability(recorder: Recorder) -> None:
    """One is asked for; the other, of a new epoch, comes from a process that finds it without an end."""
    durable = DurabilityChanged(seq=3, durability=Durability.NONE, epoch=0)
    events = await recorder.simple(call("greet", name="Ada"), finish("Done."))
    events = [*events[:2], durable, *(replace(event, seq=event.seq + 1) for event in events[2:])]
    events += recovery(fold(events))
    last = len(events)
    events[-1] = replace(events[-1], seq=last)
    assert fold(events).epoch == 1
    await same(events, greet)


@pytest.mark.parametrize("where", [ObservationEvent, ExecutionStarted, ModelCallStarted, MessageEvent])
async def test_a_fork(recorder: Recorder, where: type[Event]) -> None:
    """It begins after any event, also in the middle of a batch, or while something is under way."""
    agent = Agent(llm=LLM(model="scripted"))
    events = await recorder.simple(call("terminal", command="pwd"), say("Done."), agent=agent)
    at = next(event.seq for event in events if isinstance(event, where))
    script = ScriptedLLM([call("greet", name="Bo"), finish("Done.")])
    async with Runtime(recorder.store, client=script, tools=[greet]) as runtime:
        name = await runtime.fork("c", at)
        async with Conversation(id=name, runtime=runtime) as conversation:
            await conversation.send_message("And Bo.")
            await conversation.run()
    both = read_conversation(recorder.store / "conversations" / name)
    assert both[:at] == events[:at]
    assert sum(isinstance(event, ConversationCreated) for event in both) == 2
    await same(both, greet)


async def test_a_log_that_ends_anywhere(recorder: Recorder) -> None:
    """After each of its batches: what would come next is not missed."""
    events = await recorder.simple(call("greet", name="Ada"), finish("Done."), agent=GATED)
    path = recorder.store / "conversations" / "c" / "events.jsonl"
    end = 0
    for batch in scan(path.read_bytes().splitlines(keepends=True), path):
        end += len(batch)
        await same(events[:end], greet)
    assert end == len(events)


async def test_another_prompt_is_the_first_difference(recorder: Recorder) -> None:
    events = await recorder.simple(call("greet", name="Ada"), finish("Done."))
    prompt = events[1]
    assert isinstance(prompt, SystemPromptEvent)
    events[1] = replace(prompt, system_prompt=prompt.system_prompt.replace("Look before", "Look hard before"))
    difference = (await replay(events, [greet])).difference
    assert difference is not None
    assert (difference.seq, difference.where) == (2, "SystemPromptEvent.system_prompt")
    assert difference.recorded.startswith("line 3: - Look hard before you change")
    assert difference.replayed.startswith("line 3: - Look before you change")


async def test_another_tool_definition_is_the_first_difference(recorder: Recorder) -> None:
    events = await recorder.simple(call("greet", name="Ada"), finish("Done."))

    @tool(name="greet")
    async def changed(name: str) -> str:
        """Greet someone politely."""
        return name

    difference = (await replay(events, [changed])).difference
    assert difference is not None
    assert (difference.seq, difference.where) == (2, "SystemPromptEvent.tools.greet.description")
    assert (difference.recorded, difference.replayed) == ("Greet someone.", "Greet someone politely.")


async def test_another_rating_is_found(recorder: Recorder) -> None:
    events = await recorder.simple(call("think", thought="Hm."), finish("Done."), agent=GATED)
    place = next(n for n, event in enumerate(events) if isinstance(event, RiskAssessed))
    rating = events[place]
    assert isinstance(rating, RiskAssessed)
    events[place] = replace(rating, risk=SecurityRisk.MEDIUM)
    difference = (await replay(events, [greet])).difference
    assert difference is not None
    assert (difference.seq, difference.where) == (place + 1, "RiskAssessed.risk")
    assert (difference.recorded, difference.replayed) == ("MEDIUM", "LOW")


async def test_what_is_sent_to_the_model_is_compared(recorder: Recorder) -> None:
    events = await recorder.simple(call("greet", name="Ada"), finish("Done."))
    place = next(n for n, event in enumerate(events) if isinstance(event, ActionEvent))
    action = events[place]
    assert isinstance(action, ActionEvent)
    events[place] = replace(action, arguments_json=type(action.arguments_json)(b'{"name": "Ada"}'))
    difference = (await replay(events, [greet])).difference
    assert difference is not None
    assert difference.where == "messages[2].tool_calls[0].arguments"
    assert (difference.recorded, difference.replayed) == ('{"name": "Ada"}', '{"name":"Ada"}')


async def test_events_that_do_not_come_any_more_and_such_that_are_new(recorder: Recorder) -> None:
    events = await recorder.simple(call("greet", name="Ada"), say("Done."))
    extra = [*events, replace(events[-1], seq=len(events) + 1, id="again")]
    difference = (await replay(extra, [greet], patience=1.0)).difference
    assert difference is not None
    assert (difference.seq, difference.replayed) == (len(extra), "nothing: it waits")
    fewer = await replay(events[:-1], [greet])
    assert fewer.difference is not None


@pytest.mark.simulated
async def test_what_is_no_log_is_refused() -> None:
    for events in ([], [MessageEvent(content=())]):
        with pytest.raises(ValueError, match="ConversationCreated"):
            await replay(events)


async def _wait(conversation: Conversation, kind: type[Event], number: int) -> None:
    """Return once there are so many events of a type."""
    async for event in conversation.stream():
        number -= isinstance(event, kind)
        if not number:
            return
