"""Tasks that go on by their ids, work in the background, and are told something meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import Agent, AgentContext, Conversation, ExecutionStatus, Limits, Runtime, State, Tool
from agentrt.context.replies import ModelReply
from agentrt.controls import StartRun
from agentrt.events import (
    AgentErrorEvent,
    ChildFinished,
    ChildMessaged,
    ChildStarted,
    MessageEvent,
    ObservationEvent,
    UserRejectObservation,
)
from agentrt.protocols import ModelRequest
from agentrt.specs import AlwaysConfirm, NeverConfirm, ToolDefinition
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import call, calls, finish, say
from tests.stores import directory

from .delegating import PRICED, Family, Gate, Play, agent, check_sums, family, model, told
from .proofs.waiting import eventually
from .steering import running

pytestmark = pytest.mark.real


def task(prompt: str, **given: Any) -> ModelReply:
    return call("task", prompt=prompt, **given)


def team(**given: Any) -> Agent:
    return agent(**{"tools": (Tool("task"), Tool("terminal")), **given})


def heard(request: ModelRequest) -> str:
    """What a model was told last."""
    return plain(request.messages[-1].content)


def first_child(live: Family) -> str:
    return next(iter(live.state.ledger.children))


def resumed(request: ModelRequest) -> ModelReply:
    """Goes on with the task that was named in a result."""
    name = told(request)[0].rpartition("[conversation ")[2].rstrip("]")
    return task("And again", resume=name)


def waits(last: str) -> Callable[[ModelRequest], ModelReply]:
    """Waits until it is told that what works in the background has ended."""
    return lambda request: say(last if "in the background, " in heard(request) else "I wait.")


def steered(request: ModelRequest) -> ModelReply:
    """Answers a question meanwhile."""
    said = heard(request)
    return say("It was cut." if "in the background, " in said else "Yes." if said == "How far?" else "I wait.")


async def until(live: Family, holds: Callable[[State], bool]) -> State:
    """The first state for which it holds."""
    with anyio.fail_after(20):
        if not holds(live.state):
            async for _ in live.top.stream():
                if holds(live.state):
                    break
        return live.state


async def test_a_task_goes_on_and_knows_what_it_did(tmp_path: Path) -> None:
    client = model(
        {
            "Go": (task("Look"), resumed, lambda request: finish(f"Heard {len(told(request))}.")),
            "Look": (finish("Seen."), finish("Seen again.")),
        }
    )
    async with family(tmp_path, client, team(), task="Go") as live:
        state = await live.top.run()
        assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "Heard 2.")
        assert len(state.ledger.children) == 1
        second = [r for r in client.requests if heard(r) == "And again"]
        assert "Look" in str(second[0].messages)
        check_sums(live)
        ended = [event for event in live.log() if isinstance(event, ChildFinished)]
        assert [event.steps for event in ended] == [1, 2]


async def test_a_task_that_is_not_there_is_refused(tmp_path: Path) -> None:
    client = model({"Go": (task("Look", resume="another-conversation"), finish("Done."))})
    async with family(tmp_path, client, team(), task="Go") as live:
        await live.top.run()
        (refused,) = [event async for event in live.top.events() if isinstance(event, UserRejectObservation)]
        assert "Unknown task 'another-conversation'" in refused.rejection_reason
        assert not live.state.ledger.children


async def test_one_works_in_the_background_and_a_message_tells_of_its_end(tmp_path: Path) -> None:
    gate = Gate()
    client = model(
        {
            "Go": (task("Dig", run_in_background=True), call("terminal", command="echo on"), waits("All done.")),
            "Dig": (call("hold", name="dig"), finish("Dug.")),
        }
    )

    async with family(tmp_path, client, team(), [gate.tool], task="Go") as live:
        async with running(live.top):
            await until(live, lambda state: state.answer == "I wait.")
            assert live.state.status is ExecutionStatus.RUNNING, "the run goes on with it"
            gate.open.set()
        assert live.state.answer == "All done."
        check_sums(live)
        (ended,) = [e async for e in live.top.events() if isinstance(e, MessageEvent) and e.source == "environment"]
        assert "in the background, has ended.]\nDug." in plain(ended.content)


async def test_one_in_the_background_is_told_something_meanwhile(tmp_path: Path) -> None:
    gate = Gate()

    def say_more(request: ModelRequest) -> ModelReply:
        name = told(request)[0].split("as task ")[1].split(",")[0]
        return task("Deeper", resume=name)

    client = model(
        {
            "Go": (task("Dig", run_in_background=True), say_more, waits("All done.")),
            "Dig": (call("hold", name="dig"), finish("Dug."), finish("Dug deeper.")),
        }
    )
    async with family(tmp_path, client, team(), [gate.tool], task="Go") as live:
        async with running(live.top):
            await until(live, lambda state: state.answer == "I wait.")
            assert any([isinstance(event, ChildMessaged) async for event in live.top.events()])
            gate.open.set()
        assert live.state.answer == "All done."
        assert any("Deeper" in str(request.messages) for request in client.requests if "Dig" in str(request.messages))


async def test_an_interrupt_ends_it_and_a_message_that_steers_does_not(tmp_path: Path) -> None:
    gate = Gate()
    client = model(
        {
            "Go": (task("Dig", run_in_background=True), steered),
            "Dig": (call("hold", name="dig"), finish("Dug.")),
        }
    )
    async with family(tmp_path, client, team(), [gate.tool], task="Go") as live:
        async with running(live.top):
            await until(live, lambda state: state.answer == "I wait.")
            await eventually(lambda: gate.entered, "the task below is at work")
            await live.top.send_message("How far?", busy="steer")
            await until(live, lambda state: state.answer == "Yes.")
            assert live.state.background
            await live.top.interrupt("enough")
        state = await until(live, lambda state: not state.background)
        assert state.status is ExecutionStatus.PAUSED
        assert state.ledger.children[first_child(live)].status is ExecutionStatus.PAUSED
        check_sums(live)
        await live.top.run()
        assert live.state.answer == "It was cut."
        assert "Interrupted: " in heard(client.requests[-1])


async def test_a_pause_holds_it_too(tmp_path: Path) -> None:
    gate = Gate()
    client = model(
        {
            "Go": (task("Dig", run_in_background=True), waits("Done.")),
            "Dig": (call("hold", name="dig"), call("terminal", command="echo 1"), finish("Dug.")),
        }
    )
    async with family(tmp_path, client, team(), [gate.tool], task="Go") as live:
        async with running(live.top):
            await until(live, lambda state: state.answer == "I wait.")
            await eventually(lambda: gate.entered, "the task below is at work")
            await live.top.pause()
            gate.open.set()
        assert live.state.at_rest
        assert live.state.ledger.children[first_child(live)].status is ExecutionStatus.PAUSED
        await live.top.run()
        assert live.state.answer == "Done."


async def test_it_goes_on_when_the_conversation_is_opened_again(tmp_path: Path) -> None:
    gate = Gate()
    client = model(
        {
            "Go": (task("Dig", run_in_background=True), waits("Done.")),
            "Dig": (call("hold", name="dig"), finish("Dug.")),
        }
    )
    async with family(tmp_path, client, team(), [gate.tool], task="Go") as live:
        await live.top.do(StartRun())
        await until(live, lambda state: state.answer == "I wait.")
        await eventually(lambda: gate.entered, "the task below is at work")
        name = live.top.id
    gate.open.set()
    async with Runtime(tmp_path / "store", client=client, tools=[gate.tool]) as runtime:
        async with Conversation(id=name, runtime=runtime) as again:
            assert again.state.background
            assert again.state.at_rest
            assert (await again.run()).answer == "Done."


async def test_agents_of_files_are_there_by_name_and_held(tmp_path: Path) -> None:
    place = tmp_path / "workspace"
    files = place / ".agents/agents"
    files.mkdir(parents=True)
    (files / "digger.md").write_text(
        "---\nname: digger\ndescription: Digs.\ntools: [Bash, Read, Nowhere]\nmodel: inherit\n"
        "permission_mode: never_confirm\nlimits: {max_steps: 7}\n---\nYou dig with care.\n"
    )
    client = model({"Go": (task("Dig", subagent_type="digger"), finish("Done.")), "Dig": (finish("Dug."),)})
    given = Agent(llm=PRICED, limits=Limits(max_steps=20), confirmation=AlwaysConfirm())
    async with (
        Runtime(tmp_path / "store", client=client) as runtime,
        Conversation(given, place, runtime=runtime) as top,
    ):
        digger = top.state.spec.agents["digger"]
        assert (digger.description, digger.is_vouched_for, digger.confirmation) == ("Digs.", False, NeverConfirm())
        await top.send_message("Go")
        state = await top.run()
        while state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
            await top.confirm()
            state = await top.run()
        assert top.state.context is not None
        (source,) = [source for source in top.state.context.sources if source.kind == "agent"]
        assert source.missing == ("Nowhere",)
        (child,) = [event async for event in top.events() if isinstance(event, ChildStarted)]
        events = read_conversation(directory(runtime.store, child.child_id))
    below = events[0].agent  # type: ignore[attr-defined]
    assert (below.llm, below.confirmation, below.limits.max_steps) == (PRICED, AlwaysConfirm(), 7)
    assert [tool.name for tool in below.tools][:2] == ["terminal", "file_editor"]
    assert events[1].system_prompt.endswith("You dig with care.")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["general-purpose", "code-explorer", "bash-runner", "planner", "reviewer", "web-researcher"]
)
async def test_some_agents_are_there_always(tmp_path: Path, name: str) -> None:
    client = model({"Go": (task("Dig", subagent_type=name), finish("Done.")), "Dig": (finish("Dug."),)})
    async with family(tmp_path, client, team(), [Gate().tool], task="Go") as live:
        await live.top.run()
        assert [child.status for child in live.state.ledger.children.values()] == [ExecutionStatus.FINISHED]
        (definition,) = [tool for tool in tools_of(live) if tool.name == "task"]
        assert f"- {name}: " in definition.description


@pytest.mark.parametrize("name", ["code-explorer", "planner", "reviewer"])
async def test_an_agent_that_changes_nothing_cannot(tmp_path: Path, name: str) -> None:
    """Whatever tool it tries, the file is not there."""
    tries = (
        call("terminal", command="touch canary"),
        call("file_editor", command="create", path=str(tmp_path / "workspace/canary"), file_text="x"),
        call("write_file", file_path="canary", content="x"),
        call("apply_patch", patch="*** Begin Patch\n*** Add File: canary\n+x\n*** End Patch"),
        call("ipython", code="open('canary', 'w')"),
        call("task", prompt="touch canary", subagent_type="general-purpose"),
        call("read_file", file_path="seen.txt"),
        finish("Dug."),
    )
    client = model({"Go": (task("Dig", subagent_type=name), finish("Done.")), "Dig": tries})
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/seen.txt").write_text("It is seen.")
    async with family(tmp_path, client, team(), [Gate().tool], task="Go") as live:
        await live.top.run()
        (child,) = live.state.ledger.children
        events = read_conversation(directory(live.runtime.store, child))
    assert not (tmp_path / "workspace/canary").exists()
    assert len([event for event in events if isinstance(event, AgentErrorEvent)]) == 6
    (result,) = [event for event in events if isinstance(event, ObservationEvent) and event.tool_name == "read_file"]
    assert "It is seen." in plain(result.content)


async def test_a_built_in_agent_asks_as_the_one_that_delegates_does(tmp_path: Path) -> None:
    client = model(
        {"Go": (task("Dig"), finish("Done.")), "Dig": (call("terminal", command="touch ran"), finish("Dug."))}
    )
    agent_ = team(confirmation=AlwaysConfirm())
    async with family(tmp_path, client, agent_, [Gate().tool], task="Go") as live:
        state = await live.top.run()
        await live.top.confirm()
        state = await live.top.run()
        assert state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        assert [p.action.tool_name for p in live.top.pending_confirmation] == ["terminal"]
        assert not (tmp_path / "workspace/ran").exists()
        await live.top.interrupt()


async def test_an_agent_of_a_repository_has_no_tool_that_is_not_offered(tmp_path: Path) -> None:
    files = tmp_path / "workspace/.agents/agents"
    files.mkdir(parents=True)
    (files / "digger.md").write_text("---\nname: digger\ntools: [Bash, file_editor]\n---\nYou dig.\n")
    client = model({"Go": (task("Dig", subagent_type="digger"), finish("Done.")), "Dig": (finish("Dug."),)})
    spec = agent(tools=(Tool("task"), Tool("file_editor")))
    async with family(tmp_path, client, spec, task="Go") as live:
        await live.top.run()
        (below,) = live.all()[1:]
        assert [tool.name for tool in below[0].agent.tools] == ["file_editor"]  # type: ignore[attr-defined]


async def test_a_resumed_task_may_take_as_many_steps_as_it_is_granted(tmp_path: Path) -> None:
    echo = call("terminal", command="echo 1")
    client = model(
        {
            "Go": (task("Look"), resumed, finish("Done.")),
            "Look": (*[echo] * 5, finish("Seen."), *[echo] * 3, finish("Seen again.")),
        }
    )
    async with family(tmp_path, client, team(limits=Limits(max_steps=24)), task="Go") as live:
        state = await live.top.run()
        assert (state.status, state.answer) == (ExecutionStatus.FINISHED, "Done.")
        assert [child.status for child in state.ledger.children.values()] == [ExecutionStatus.FINISHED]
        check_sums(live)


async def test_two_calls_that_go_on_with_one_task_come_one_after_the_other(tmp_path: Path) -> None:
    def both(request: ModelRequest) -> ModelReply:
        name = told(request)[0].rpartition("[conversation ")[2].rstrip("]")
        return calls(*(("task", {"prompt": more, "resume": name}) for more in ("A", "B")))

    plays: dict[str, Play] = {
        "Go": (task("Look"), both, finish("Done.")),
        "Look": (finish("1"), finish("2"), finish("3")),
    }
    async with family(tmp_path, model(plays), team(), task="Go") as live:
        state = await live.top.run()
        assert state.answer == "Done."
        (log,) = live.all()[1:]
        said = [plain(e.content) for e in log if isinstance(e, MessageEvent) and e.source == "user"]
        assert said == ["Look", "A", "B"]
        check_sums(live)


async def test_a_call_that_goes_on_with_a_task_waits_whatever_is_logged_meanwhile(tmp_path: Path) -> None:
    gate = Gate()

    def both(request: ModelRequest) -> ModelReply:
        name = told(request)[0].rpartition("[conversation ")[2].rstrip("]")
        return calls(*(("task", {"prompt": more, "resume": name}) for more in ("A", "B")))

    plays: dict[str, Play] = {
        "Go": (task("Look"), both, finish("Done.")),
        "Look": (finish("1"), call("hold", name="look"), finish("2"), finish("3")),
    }
    async with family(tmp_path, model(plays), team(), [gate.tool], task="Go") as live:
        async with running(live.top):
            await eventually(lambda: gate.entered, "the task is at work")
            await live.top.rename("Another title")
            gate.open.set()
        assert live.state.answer == "Done."
        (log,) = live.all()[1:]
        said = [plain(e.content) for e in log if isinstance(e, MessageEvent) and e.source == "user"]
        assert said == ["Look", "A", "B"]


async def test_an_interrupt_after_it_was_left_ends_it_too(tmp_path: Path) -> None:
    gate = Gate()
    plays: dict[str, Play] = {
        "Go": (task("Dig", run_in_background=True), waits("Done.")),
        "Dig": (call("hold", name="dig"), finish("Dug.")),
    }
    client = model(plays)
    async with family(tmp_path, client, team(), [gate.tool], task="Go") as live:
        await live.top.do(StartRun())
        await until(live, lambda state: state.answer == "I wait.")
        await eventually(lambda: gate.entered, "the task below is at work")
        name = live.top.id
    async with Runtime(tmp_path / "store", client=client, tools=[gate.tool]) as runtime:
        async with Conversation(id=name, runtime=runtime) as again:
            await again.interrupt("enough")
            assert not again.state.background
            assert (await again.run()).answer == "Done."


def tools_of(live: Family) -> tuple[ToolDefinition, ...]:
    assert live.state.prompt is not None
    return live.state.prompt.tools


@pytest.mark.pure
def test_a_context_is_part_of_an_agent() -> None:
    assert Agent(llm=PRICED, context=AgentContext(load_memory=False)).context == AgentContext(load_memory=False)
