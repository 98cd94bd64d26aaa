"""Conversations as a program has them: running, steering, stopping, coming back."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from agentrt import LLM, Agent, ConfirmRisky, Conversation, ExecutionStatus, Limits, Runtime, ToolError, tool
from agentrt.actors.core import RestartPolicy
from agentrt.context.messages import ToolCall
from agentrt.context.replies import AFTER_FINISH, ModelReply
from agentrt.deltas import Delta
from agentrt.errors import (
    ConfigurationError,
    ContextWindowExceeded,
    ConversationExists,
    ConversationMissing,
    EventRefused,
    LogFailed,
    ModelUnavailable,
    ToolMissing,
    WorkspaceMissing,
)
from agentrt.events import (
    ActionEvent,
    AgentErrorEvent,
    Condensation,
    ConversationErrorEvent,
    Event,
    ExecutionStarted,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ObservationEvent,
    RiskAssessed,
    RunRequested,
)
from agentrt.protocols import ModelClient, ModelRequest, Watch
from agentrt.security.rating import Rating, Scene
from agentrt.specs import SecurityRisk, Tool
from agentrt.specs.content import plain
from agentrt.state import fold
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, call, calls, finish, say
from agentrt.tools import ToolType

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted"), tools=(), checkpoints=False)
GATED = Agent(llm=LLM(model="scripted"), tools=(), analyzer="rules", confirmation=ConfirmRisky())


@tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}!"


class Gate:
    """A tool, or a model, that waits until it is let through."""

    def __init__(self) -> None:
        self.entered = anyio.Event()
        self.open = anyio.Event()

    async def pass_through(self) -> None:
        self.entered.set()
        await self.open.wait()

    def tool(self, *touches: str) -> ToolType:
        @tool(resources=lambda action, workspace: touches or None)
        async def gate() -> str:
            """Wait."""
            await self.pass_through()
            return "through"

        return gate


class GatedModel(ModelClient):
    """A model that says half of its answer and then waits at a gate."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
        watch.show("text", "The first half")
        await self._gate.pass_through()
        return say("The first half and the second.")


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


async def everything(conversation: Conversation) -> list[Event]:
    return [event async for event in conversation.events()]


async def test_a_conversation_runs_to_its_end(tmp_path: Path) -> None:
    client = ScriptedLLM([call("greet", "I greet.", name="Ada"), finish("Greeted.")])
    async with Conversation(AGENT, tmp_path, tools=[greet], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("Greet Ada.")
        events = [event async for event in conversation.run()]
        assert conversation.state.status is ExecutionStatus.FINISHED
        assert kinds(events) == [
            "RunRequested",
            *("ModelCallStarted", "ModelCalled", "ActionEvent", "ExecutionStarted", "ObservationEvent") * 2,
            "RunEnded",
        ]
        assert [event.seq for event in await everything(conversation)] == list(range(1, len(events) + 4))
    first, second = client.requests
    assert [message.role for message in first.messages] == ["system", "user"]
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "tool"]
    assert plain(second.messages[-1].content) == "Hello, Ada!"
    assert {definition.name for definition in first.tools} == {"greet", "think", "finish"}


async def test_awaiting_a_run_gives_the_state_at_its_end(tmp_path: Path) -> None:
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=ScriptedLLM([say("Hi.")])) as conversation:
        await conversation.send_message("Hi")
        state = await conversation.run()
        assert state.status is ExecutionStatus.FINISHED
        assert (await conversation.run()).seq == state.seq + 2, (
            "there is nothing to answer, so nothing but the wish and its end is logged"
        )


async def test_leaving_the_iteration_does_not_affect_the_run(tmp_path: Path) -> None:
    gate = Gate()
    client = ScriptedLLM([call("gate"), say("Done.")])
    async with Conversation(AGENT, tmp_path, tools=[gate.tool()], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        async for event in conversation.run():
            if isinstance(event, ExecutionStarted):
                break
        gate.open.set()
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


async def test_a_slow_reader_sees_everything_and_slows_nothing(tmp_path: Path) -> None:
    """The run is over before the reader takes its second event; the file has what memory no longer holds."""
    turns = [call("greet", name=str(n)) for n in range(80)]
    client = ScriptedLLM([*turns, finish("Done.")])
    async with Conversation(AGENT, tmp_path, tools=[greet], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        seen: list[int] = []
        async for event in conversation.run():
            if not seen:
                await conversation.run()
                assert conversation.state.status is ExecutionStatus.FINISHED
            seen.append(event.seq)
        assert seen == list(range(4, conversation.state.seq + 1))


async def test_a_conversation_is_reopened_by_its_id_alone(tmp_path: Path) -> None:
    store = tmp_path / "s"
    async with Conversation(AGENT, tmp_path, tools=[greet], store=store, client=ScriptedLLM([say("One.")])) as first:
        await first.send_message("one")
        await first.run()
        before = first.state
    client = ScriptedLLM([say("Two.")])
    async with Conversation(id=first.id, tools=[greet], store=store, client=client) as again:
        assert again.state == before
        await again.send_message("two")
        assert (await again.run()).status is ExecutionStatus.FINISHED
    said = [plain(message.content) for message in client.requests[0].messages[1:]]
    assert said == ["one", "One.", "two"]


@pytest.mark.real
async def test_many_conversations_share_a_runtime(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> ModelReply:
        asked = plain(request.messages[1].content)
        return finish(asked) if len(request.messages) > 3 else call("greet", name=asked)

    finished: list[str] = []
    async with Runtime(tmp_path / "s", client=ScriptedLLM(script), tools=[greet]) as runtime:

        async def one(name: str) -> None:
            agent = Agent(llm=LLM(model="scripted"), tools=())
            async with Conversation(agent, tmp_path, tools=[greet], runtime=runtime) as conversation:
                await conversation.send_message(name)
                await conversation.run()
                results = [e async for e in conversation.events() if isinstance(e, ObservationEvent)]
                finished.append(plain(results[0].content))

        async with anyio.create_task_group() as tasks:
            for n in range(50):
                tasks.start_soon(one, f"n{n}")
    assert sorted(finished) == sorted(f"Hello, n{n}!" for n in range(50))


async def test_the_same_message_twice_counts_once(tmp_path: Path) -> None:
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=ScriptedLLM([say("Hi.")])) as conversation:
        first = await conversation.send_message("Hi", id="mine")
        assert await conversation.send_message("Hi", id="mine") == first
        await conversation.run()
        seq = conversation.state.seq
        await conversation.send_message("Hi", id="mine")
        assert conversation.state.seq == seq


async def test_what_is_said_during_a_model_call_is_seen_by_the_next(tmp_path: Path) -> None:
    gate = Gate()
    client = ScriptedLLM([call("gate"), say("Both done.")])
    async with Conversation(AGENT, tmp_path, tools=[gate.tool()], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("one")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_drain, conversation)
            await gate.entered.wait()
            await conversation.send_message("two")
            gate.open.set()
            await conversation.run()
    roles = [(m.role, plain(m.content)) for m in client.requests[1].messages[1:]]
    assert roles == [("user", "one"), ("assistant", ""), ("tool", "through"), ("user", "two")]


async def test_pause_lets_what_runs_end_and_begins_nothing(tmp_path: Path) -> None:
    gate = Gate()
    client = ScriptedLLM([call("gate"), say("Done.")])
    async with Conversation(AGENT, tmp_path, tools=[gate.tool()], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_drain, conversation)
            await gate.entered.wait()
            await conversation.pause()
            gate.open.set()
        assert conversation.state.status is ExecutionStatus.PAUSED
        assert len(client.requests) == 1
        assert kinds(await everything(conversation))[-2:] == ["PauseEvent", "ObservationEvent"]
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


async def _drain(conversation: Conversation) -> None:
    async for _ in conversation.run():
        pass


async def test_an_interrupt_keeps_what_the_model_said_so_far(tmp_path: Path) -> None:
    gate = Gate()
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=GatedModel(gate)) as conversation:
        await conversation.send_message("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_drain, conversation)
            await gate.entered.wait()
            await conversation.interrupt("enough")
        events = await everything(conversation)
        interrupt, partial, called = events[-3:]
        assert isinstance(interrupt, InterruptEvent)
        assert isinstance(partial, MessageEvent)
        assert isinstance(called, ModelCalled)
        assert (interrupt.reason, plain(partial.content), partial.partial) == ("enough", "The first half", True)
        assert called.error == "interrupted"
        assert conversation.state.status is ExecutionStatus.PAUSED
        gate.open.set()
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


async def test_an_interrupt_gives_every_call_a_result(tmp_path: Path) -> None:
    gate = Gate()
    client = ScriptedLLM([calls(("gate", {}), ("greet", {"name": "A"})), say("Done.")])
    async with Conversation(
        AGENT, tmp_path, tools=[gate.tool(), greet], store=tmp_path / "s", client=client
    ) as conversation:
        await conversation.send_message("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_drain, conversation)
            await gate.entered.wait()
            await conversation.interrupt()
        errors = {e.tool_name: e.error for e in await everything(conversation) if isinstance(e, AgentErrorEvent)}
        assert errors["greet"] == "Not run: the user interrupted."
        assert errors["gate"].startswith("Interrupted after 0.")
        await conversation.run()
    roles = [message.role for message in client.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "tool", "tool"]


async def test_leaving_a_conversation_interrupts_it_and_it_can_go_on(tmp_path: Path) -> None:
    gate = Gate()
    client = ScriptedLLM([call("gate"), say("Done.")])
    tools, store = [gate.tool()], tmp_path / "s"
    async with Conversation(AGENT, tmp_path, tools=tools, store=store, client=client) as conversation:
        await conversation.send_message("go")
        async for event in conversation.run():
            if isinstance(event, ExecutionStarted):
                break
        await gate.entered.wait()
    async with Conversation(id=conversation.id, tools=tools, store=store, client=client) as again:
        assert again.state.status is ExecutionStatus.PAUSED
        assert again.state.in_flight == ()
        assert (await again.run()).status is ExecutionStatus.FINISHED


async def test_what_the_body_raises_comes_out_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=ScriptedLLM([])):
            raise KeyError("mine")


@pytest.mark.real
async def test_a_risky_action_waits_for_a_person(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    client = ScriptedLLM([call("terminal", command="rm -rf x"), say("Gone.")])
    agent = Agent(llm=LLM(model="scripted"), analyzer="rules", confirmation=ConfirmRisky(SecurityRisk.MEDIUM))
    store = tmp_path / "s"
    async with Conversation(agent, tmp_path, store=store, client=client) as conversation:
        await conversation.send_message("Delete x.")
        state = await conversation.run()
        assert state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        (pending,) = conversation.pending_confirmation
        assert pending.risk is SecurityRisk.MEDIUM
        assert (tmp_path / "x").exists()
    async with Conversation(id=conversation.id, store=store, client=client) as again:
        assert again.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION, "it survives a restart"
        await again.confirm()
        assert (await again.run()).status is ExecutionStatus.FINISHED
    assert not (tmp_path / "x").exists()


@pytest.mark.real
async def test_a_rejected_action_does_not_run_and_the_model_hears_why(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    client = ScriptedLLM([call("terminal", command="rm -rf x"), say("I leave it.")])
    agent = Agent(llm=LLM(model="scripted"), analyzer="rules", confirmation=ConfirmRisky(SecurityRisk.MEDIUM))
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("Delete x.")
        await conversation.run()
        await conversation.reject("We need x.")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
    assert (tmp_path / "x").exists()
    assert "We need x." in plain(client.requests[1].messages[-1].content)


@pytest.mark.real
async def test_an_analyzer_that_fails_counts_as_high(tmp_path: Path) -> None:
    class Broken:
        async def assess(self, action: ActionEvent, scene: Scene) -> Rating:
            raise OSError("the service is down")

    client = ScriptedLLM([call("greet", name="A")])
    async with Runtime(tmp_path / "s", client=client, tools=[greet], analyzers={"rules": Broken}) as runtime:
        async with Conversation(GATED, tmp_path, tools=[greet], runtime=runtime) as conversation:
            await conversation.send_message("go")
            await conversation.run()
            assert conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
            (rated,) = [e for e in await everything(conversation) if isinstance(e, RiskAssessed)]
            assert rated.risk is SecurityRisk.HIGH
            assert "the service is down" in rated.reason


async def test_a_bad_call_is_an_error_that_the_model_can_mend(tmp_path: Path) -> None:
    broken = ModelReply(tool_calls=calls(("greet", {})).tool_calls)
    turns = [
        calls(("nothing", {})),
        broken,
        ModelReply(tool_calls=(msg_call("greet", '{"name": "Ada"'),)),
        ModelReply(tool_calls=(msg_call("greet", '["Ada"]'),)),
        call("greet", name="Ada"),
        finish("Done."),
    ]
    client = ScriptedLLM(turns)
    async with Conversation(AGENT, tmp_path, tools=[greet], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        errors = [e.error for e in await everything(conversation) if isinstance(e, AgentErrorEvent)]
    assert "The tools are: greet, think, finish" in errors[0]
    assert "missing required field `name`" in errors[1]
    assert '"properties":{"name":{"type":"string"}}' in errors[1]
    assert "not valid JSON" in errors[2]
    assert "must be a JSON object, not list" in errors[3]


def msg_call(name: str, arguments: str) -> ToolCall:
    return ToolCall("call_x", name, arguments)


async def test_a_tool_that_fails_tells_the_model_and_the_run_goes_on(tmp_path: Path) -> None:
    @tool
    async def fails(how: str) -> str:
        """Fail."""
        if how == "expected":
            raise ToolError("there is no such door")
        raise ZeroDivisionError("a bug")

    client = ScriptedLLM([call("fails", how="expected"), call("fails", how="bug"), say("Well.")])
    async with Conversation(AGENT, tmp_path, tools=[fails], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
    told = plain(client.requests[2].messages[-1].content)
    assert plain(client.requests[1].messages[-1].content) == "there is no such door"
    assert told == "Error: fails failed: ZeroDivisionError: a bug"


async def test_an_empty_reply_is_answered_with_a_nudge(tmp_path: Path) -> None:
    client = ScriptedLLM([say("  "), say("Sorry, done.")])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
    assert "Your reply was empty" in plain(client.requests[1].messages[-1].content)


async def test_a_failed_model_call_ends_the_run_and_running_again_goes_on(tmp_path: Path) -> None:
    client = ScriptedLLM([ModelUnavailable("the provider is down"), say("Back.")])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        state = await conversation.run()
        assert state.status is ExecutionStatus.ERROR
        assert state.error is not None
        assert (state.error.code, state.error.detail) == ("unavailable", "the provider is down")
        assert state.error.retryable
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


async def test_a_view_that_is_too_long_is_cut_and_the_run_goes_on(tmp_path: Path) -> None:
    turns = [call("greet", name=str(n)) for n in range(60)]
    client = ScriptedLLM([*turns, ContextWindowExceeded("too long"), say("## Task\nGreet them all."), say("Done.")])
    async with Conversation(AGENT, tmp_path, tools=[greet], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        assert any(isinstance(e, Condensation) for e in await everything(conversation))
        assert conversation.state.ledger.spending["condenser"].calls == 1
    before, asked, after = (request.messages for request in client.requests[-3:])
    assert len(after) < len(before)
    assert after[:2] == before[:2] == asked[:2], "the system prompt and the task stay"
    assert asked[:-1] == before[: len(asked) - 1], "the summary is asked for behind what the model was sent"
    assert plain(after[2].content).startswith("[This is a summary of 92 earlier events, #7 to #234")


async def test_a_view_that_cannot_be_cut_ends_the_run(tmp_path: Path) -> None:
    client = ScriptedLLM([ContextWindowExceeded("too long")])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        state = await conversation.run()
        assert state.error is not None
        assert state.error.code == "context_window"


@pytest.mark.parametrize("steps", [0, 8])
async def test_who_asks_for_a_shorter_view_asks_for_no_work(tmp_path: Path, steps: int) -> None:
    model = ScriptedLLM([*[call("greet", name="you")] * steps, say("Done."), say("## Task\nGreet.")])
    agent = replace(AGENT, stuck=None)
    async with Conversation(agent, tmp_path, tools=[greet], store=tmp_path / "s", client=model) as conversation:
        await conversation.send_message("hi")
        await conversation.condense()
        assert (await conversation.run()).status is ExecutionStatus.FINISHED, "what cannot be shorter stays as it is"
        await conversation.condense()
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        assert len(model.requests) == steps + 1 + (steps > 0), "and the summary"
        shortened = [event for event in await everything(conversation) if isinstance(event, Condensation)]
        assert [bool(event.forgotten_event_ids) for event in shortened] == [False, steps > 0]


@pytest.mark.real
async def test_a_limit_of_steps_ends_the_run(tmp_path: Path) -> None:
    agent = Agent(llm=LLM(model="scripted"), tools=(), limits=Limits(max_steps=3))
    client = ScriptedLLM(lambda request: call("greet", name="again"))
    async with Conversation(agent, tmp_path, tools=[greet], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        state = await conversation.run()
        assert state.error is not None
        assert state.error.code == "max_steps"
        assert len(client.requests) == 3


async def test_a_performer_with_a_bug_is_restarted_then_given_up(tmp_path: Path) -> None:
    class Buggy(ModelClient):
        crashes = 0

        async def complete(self, request: ModelRequest, watch: Watch) -> ModelReply:
            self.crashes += 1
            if self.crashes < 3:
                raise ZeroDivisionError("a bug")
            return say("The third time.")

    buggy = Buggy()
    restarts = RestartPolicy(restarts=3, backoff=0.001)
    async with Runtime(tmp_path / "s", client=buggy, restarts=restarts) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
            await conversation.send_message("go")
            assert (await conversation.run()).status is ExecutionStatus.FINISHED
            buggy.crashes = -100
            await conversation.send_message("and?")
            state = await conversation.run()
            assert state.status is ExecutionStatus.ERROR
            assert state.error is not None
            assert "ZeroDivisionError" in state.error.detail or "stopped" in state.error.detail
            buggy.crashes = 100
            assert (await conversation.run()).status is ExecutionStatus.FINISHED, "the conversation lives"


@pytest.mark.real
async def test_calls_that_share_nothing_run_side_by_side(tmp_path: Path) -> None:
    agent = Agent(llm=LLM(model="scripted"), tools=(), limits=Limits(tool_concurrency=2))
    one, two = Gate(), Gate()

    @tool(name="other", resources=lambda action, workspace: ())
    async def other() -> str:
        """Wait."""
        await two.pass_through()
        return "second"

    client = ScriptedLLM([calls(("gate", {}), ("other", {})), say("Done.")])
    async with Conversation(
        agent, tmp_path, tools=[one.tool("one"), other], store=tmp_path / "s", client=client
    ) as conversation:
        await conversation.send_message("go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_drain, conversation)
            await one.entered.wait()
            await two.entered.wait()
            two.open.set()
            one.open.set()
    tools = [plain(m.content) for m in client.requests[1].messages if m.role == "tool"]
    assert sorted(tools) == ["second", "through"]


async def test_deltas_come_between_and_name_what_they_become(tmp_path: Path) -> None:
    client = ScriptedLLM([say("Hello there.")])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        items = [item async for item in conversation.run().stream()]
    deltas = [item for item in items if isinstance(item, Delta)]
    (answer,) = [item for item in items if isinstance(item, MessageEvent)]
    assert "".join(delta.text for delta in deltas).strip() == "Hello there."
    assert {delta.becomes for delta in deltas} == {answer.id}
    assert items.index(deltas[-1]) < items.index(answer)


async def test_rewinding_forgets_for_the_model_and_not_in_the_log(tmp_path: Path) -> None:
    client = ScriptedLLM([say("One."), say("Two.")])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("one")
        await conversation.run()
        with pytest.raises(EventRefused):
            await conversation.rewind(99)
        await conversation.rewind(2)
        await conversation.send_message("instead")
        await conversation.run()
        assert [plain(m.content) for m in client.requests[1].messages[1:]] == ["instead"]
        assert "one" in [plain(e.content) for e in await everything(conversation) if isinstance(e, MessageEvent)]


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Writes beyond `size` bytes of a file fail with EFBIG."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_log_that_cannot_be_written_ends_its_conversation_only(tmp_path: Path) -> None:
    client = ScriptedLLM(lambda request: say("Fine."))
    async with Runtime(tmp_path / "s", client=client) as runtime:
        async with (
            Conversation(AGENT, tmp_path, runtime=runtime, id="bad") as bad,
            Conversation(AGENT, tmp_path, runtime=runtime, id="good") as good,
        ):
            await bad.send_message("x" * 20_000)
            seq = bad.state.seq
            with file_size_limit(20_000):
                for attempt in (bad.send_message("more"), bad.send_message("again"), bad.pause()):
                    with pytest.raises(LogFailed, match="the conversation stops"):
                        await attempt
                with pytest.raises(LogFailed):
                    async for _ in bad.run():
                        pass
                await good.send_message("hi")
                assert (await good.run()).status is ExecutionStatus.FINISHED
            assert bad.state.seq == seq, "nothing that was not durable is seen"
        async with Conversation(id="bad", runtime=runtime) as fixed:
            assert fixed.state.seq == seq
            await fixed.send_message("hi")
            assert (await fixed.run()).status is ExecutionStatus.FINISHED


async def test_bad_input_is_said_in_one_line(tmp_path: Path) -> None:
    store = tmp_path / "s"
    with pytest.raises(ConfigurationError, match="give an agent"):
        Conversation()
    for name in ("a\0b", "x" * 300):
        with pytest.raises(WorkspaceMissing):
            async with Conversation(AGENT, tmp_path / name, store=store):
                pass
    with pytest.raises(WorkspaceMissing, match="nowhere"):
        async with Conversation(AGENT, tmp_path / "nowhere", store=store):
            pass
    with pytest.raises(ToolMissing, match="'dance'.*terminal"):
        agent = Agent(llm=LLM(model="m"), tools=(greet_spec("dance"),))
        async with Conversation(agent, tmp_path, store=store):
            pass
    with pytest.raises(ConversationMissing):
        async with Conversation(id="nobody", store=store):
            pass
    with pytest.raises(ConfigurationError, match="unknown security analyzer 'oracle'"):
        async with Conversation(Agent(llm=LLM(model="m"), analyzer="oracle"), tmp_path, store=store):
            pass
    async with Runtime(store, client=ScriptedLLM([])) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c"):
            with pytest.raises(ConversationExists):
                async with Conversation(AGENT, tmp_path, runtime=runtime, id="c"):
                    pass
    with pytest.raises(ConfigurationError, match="async with"):
        await Conversation(AGENT, tmp_path, store=store).send_message("hi")


def greet_spec(name: str) -> Tool:
    return Tool(name)


async def test_the_log_is_the_whole_state(tmp_path: Path) -> None:
    client = ScriptedLLM([call("greet", name="Ada"), finish("Done.")])
    async with Conversation(AGENT, tmp_path, tools=[greet], store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        state = conversation.state
    events = read_conversation(tmp_path / "s" / "conversations" / conversation.id)
    assert fold(events) == state
    assert any(isinstance(event, RunRequested) for event in events)
    assert not any(isinstance(event, ConversationErrorEvent) for event in events)


async def test_a_plan_is_remembered_over_a_restart(tmp_path: Path) -> None:
    agent, store = Agent(llm=LLM(model="scripted"), tools=(Tool("task_tracker"),)), tmp_path / "s"
    plan = call("task_tracker", command="plan", task_list=[{"title": "Look", "status": "done"}, {"title": "Mend"}])
    async with Conversation(agent, tmp_path, store=store, client=ScriptedLLM([plan, say("Planned.")])) as conversation:
        await conversation.send_message("Plan.")
        await conversation.run()
    client = ScriptedLLM([call("task_tracker", command="view"), say("Seen.")])
    async with Conversation(id=conversation.id, store=store, client=client) as again:
        await again.send_message("What is left?")
        await again.run()
    assert plain(client.requests[1].messages[-1].content) == "1. [x] Look\n2. [ ] Mend"


async def test_what_follows_a_finish_in_one_reply_is_not_run(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool
    async def note(word: str) -> str:
        """Note a word."""
        ran.append(word)
        return "noted"

    turn = calls(("note", {"word": "before"}), ("finish", {"message": "Done."}), ("note", {"word": "after"}))
    client = ScriptedLLM([turn])
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=client, tools=[note]) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        assert conversation.state.status is ExecutionStatus.FINISHED
        errors = [event async for event in conversation.events() if isinstance(event, AgentErrorEvent)]
    assert ran == ["before"]
    assert [error.error for error in errors] == [AFTER_FINISH]


@pytest.mark.parametrize("acts", [False, True])
async def test_a_reply_that_its_provider_held_back_is_no_success(tmp_path: Path, acts: bool) -> None:
    reply = ModelReply(
        text="So far",
        tool_calls=(ToolCall("c1", "finish", '{"message": "Done."}'),) if acts else (),
        finish_reason="content_filter",
    )
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=ScriptedLLM([reply])) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        assert conversation.state.status is ExecutionStatus.ERROR
        assert conversation.state.error is not None
        assert conversation.state.error.code == "content_policy"
        said = [event async for event in conversation.events() if isinstance(event, MessageEvent | ActionEvent)]
    if acts:
        assert isinstance(said[-1], ActionEvent)
    else:
        assert isinstance(said[-1], MessageEvent)
        assert said[-1].partial
        assert plain(said[-1].content) == "So far"


async def test_a_tool_whose_parameters_do_not_fit_says_so_at_each_call(tmp_path: Path) -> None:
    model = ScriptedLLM([call("terminal", command="ls"), say("I cannot.")])
    agent = Agent(LLM("scripted"), tools=(Tool("terminal", {"on_timeout": "stop"}),), checkpoints=False)
    async with Conversation(agent, tmp_path, store="memory://", client=model) as conversation:
        assert await conversation.prompt("List the files") == "I cannot."
    assert "expected 'leave' or 'kill'" in plain(model.requests[-1].messages[-1].content)
