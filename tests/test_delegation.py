"""Delegation: conversations below conversations, at work side by side; what goes down to them and comes up."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import random
import time
from pathlib import Path

import anyio
import pytest

from agentrt import (
    LLM,
    Agent,
    ConfirmRisky,
    Conversation,
    ExecutionStatus,
    Limits,
    PermissionRule,
    SecurityRisk,
    State,
    Tool,
    tool,
)
from agentrt.errors import ConfigurationError, LogFailed
from agentrt.events import (
    AgentErrorEvent,
    ChildFinished,
    ChildStarted,
    ConversationCreated,
    Event,
    ExecutionLost,
    InterruptEvent,
    MessageEvent,
    ModelCallStarted,
    ObservationEvent,
    PauseEvent,
    RunRequested,
    UserRejectObservation,
)
from agentrt.host import Host, Hosts
from agentrt.specs.content import plain
from agentrt.testing import call, calls, finish, say
from tests.stores import directory

from .delegating import (
    TOP,
    Barrier,
    Family,
    Gate,
    Play,
    actions,
    agent,
    check_sums,
    delegate,
    family,
    model,
    reopened,
    told,
)
from .proofs.test_interrupt import family as processes
from .proofs.test_interrupt import marked, unique_mark
from .proofs.waiting import eventually
from .steering import running
from .test_conversation import file_size_limit
from .timing import uncollected

pytestmark = pytest.mark.real

SECONDS = 20.0
"""How long a test waits for what must come."""

HELD: dict[str, Play] = {"all": (delegate("a"), finish("Done.")), "a": (call("hold", name="a"), finish("A."))}
"""What is delegated waits at a gate."""

HELD_BELOW = HELD | {"all": (delegate("one"), finish("Done.")), "one": (delegate("a"), finish("One."))}
"""So does what is delegated by what is delegated."""


def shell(command: str) -> Play:
    """A task that is one command."""
    return (call("terminal", command=command), lambda request: finish(told(request)[-1]))


def results(conversation: Family, conversation_id: str = TOP, tool_name: str = "delegate") -> list[str]:
    """What the model was told of the calls of a tool."""
    log = conversation.log(conversation_id)
    return [
        plain(event.content) if isinstance(event, ObservationEvent) else event.error
        for event in log
        if isinstance(event, (ObservationEvent, AgentErrorEvent)) and event.tool_name == tool_name
    ]


def kinds(log: list[Event]) -> list[str]:
    """What happened, in its order."""
    return [type(event).__name__ for event in log]


async def finished(live: Family) -> State:
    with anyio.fail_after(SECONDS):
        state = await live.top.run()
    assert state.status is ExecutionStatus.FINISHED, state.error
    return state


async def test_two_levels_work_side_by_side_with_real_shells(tmp_path: Path) -> None:
    """Each of four shells below two children waits for the others: a pipe opens when both its ends are there."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for name in ("ab", "bc", "cd", "da"):
        os.mkfifo(workspace / name)
    first, then = "echo {0} > {1}; cat {2} > {0}.txt; cat {0}.txt", "cat {2} > {0}.txt; echo {0} > {1}; cat {0}.txt"
    plays: dict[str, Play] = {
        "all": (delegate("left", "right"), lambda request: finish("\n".join(told(request)))),
        "left": (delegate("a", "b"), lambda request: finish("left: " + " ".join(told(request)))),
        "right": (delegate("c", "d"), lambda request: finish("right: " + " ".join(told(request)))),
        "a": shell(first.format("a", "ab", "da")),
        "b": shell(then.format("b", "bc", "ab")),
        "c": shell(then.format("c", "cd", "bc")),
        "d": shell(then.format("d", "da", "cd")),
    }
    async with family(tmp_path, plays) as live:
        state = await finished(live)
        assert [(workspace / f"{name}.txt").read_text() for name in "abcd"] == ["d\n", "a\n", "b\n", "c\n"]
        assert len(live.all()) == 7
        created = [log[0] for log in live.all()]
        assert all(isinstance(event, ConversationCreated) for event in created)
        assert [event.depth for event in created if isinstance(event, ConversationCreated)] == [0, 1, 2, 2, 1, 2, 2]
        assert [event.delegated_by for event in created if isinstance(event, ConversationCreated)] == [
            None,
            TOP,
            *[live.id_of("left")] * 2,
            TOP,
            *[live.id_of("right")] * 2,
        ]
        assert [child.status for child in state.ledger.children.values()] == [ExecutionStatus.FINISHED] * 2
        assert all(f"[conversation {live.id_of(name)}]" in "".join(results(live)) for name in ("left", "right"))
        check_sums(live)
        assert len(live.runtime.hosts) == 1
    deepest = live.log(live.id_of("a"))[0]
    assert isinstance(deepest, ConversationCreated)
    assert "delegate" not in [spec.name for spec in deepest.agent.tools]


async def test_children_of_a_barrier(tmp_path: Path) -> None:
    barrier = Barrier(4)
    plays: dict[str, Play] = {
        "all": (delegate("left", "right"), finish("Done.")),
        "left": (delegate("a", "b"), finish("Left.")),
        "right": (delegate("c", "d"), finish("Right.")),
        **{name: (call("meet", name=name), finish(name)) for name in "abcd"},
    }
    async with family(tmp_path, plays, tools=[barrier.tool]) as live:
        await finished(live)
        assert barrier.gone == 4
        check_sums(live)


async def test_named_agents_and_those_like_the_one_that_delegates(tmp_path: Path) -> None:
    other = Agent(llm=LLM(model="other"), tools=(), system_prompt="You read.")
    client = model(
        {
            "all": (
                calls(("delegate", {"task": "read", "agent": "reader"}), ("delegate", {"task": "write"})),
                lambda request: finish("\n".join(told(request))),
            ),
            "read": (say("It says so."),),
            "write": (finish("Written."),),
        }
    )
    async with family(tmp_path, client, agent(agents={"reader": other})) as live:
        await finished(live)
        asked = {request.llm.model for request in client.requests if isinstance(request.llm, LLM)}
        assert asked == {"other", "scripted"}
        (tool_definition,) = (d for d in client.requests[0].tools if d.name == "delegate")
        assert tool_definition.description.endswith("The agents are:\n- reader")
        said, written = sorted(results(live))  # they work side by side
        assert said.startswith("It says so.")
        assert written.startswith("Written.")


async def test_an_agent_that_there_is_not_is_an_error_that_the_model_can_act_on(tmp_path: Path) -> None:
    plays: dict[str, Play] = {
        "all": (delegate("x", agent="nobody"), delegate("x", agent="b"), finish("Done.")),
        "x": (finish("X."),),
    }
    spec = agent(agents={"b": agent(), "a": agent()})
    async with family(tmp_path, plays, spec) as live:
        await finished(live)
        first, second = results(live)
        assert "unknown agent 'nobody'; agents to delegate to: " in first
        assert second.startswith("X.")
        check_sums(live)


async def test_a_limit_to_how_deep_it_goes(tmp_path: Path) -> None:
    """The deepest are not offered the tool; one that asks for it all the same is told that there is none."""
    plays: dict[str, Play] = {
        "all": (delegate("one"), lambda request: finish(told(request)[-1])),
        "one": (delegate("two"), lambda request: finish(told(request)[-1])),
    }
    spec = agent(Limits(tool_concurrency=2, max_depth=1))
    async with family(tmp_path, plays, spec) as live:
        await finished(live)
        (told_one,) = results(live, live.id_of("one"))
        assert "delegate" in told_one
        assert live.below(live.id_of("one")) == {}
    async with family(tmp_path / "none", {"all": plays["all"]}, agent(Limits(max_depth=0))) as live:
        await finished(live)
        assert "the limit is 0 levels of delegation" in results(live)[0]


async def test_how_a_child_ends_is_what_its_parent_is_told(tmp_path: Path) -> None:
    plays: dict[str, Play] = {
        "all": (delegate("fails", "goes round"), lambda request: finish("\n".join(told(request)))),
        "fails": (say("Never."),),
        "goes round": tuple(call("terminal", command="echo again") for _ in range(9)),
    }
    unpriced = agent(agents={"cheap": agent(Limits(max_cost=1.0), llm=LLM(model="unpriced"))})
    plays["all"] = (
        calls(("delegate", {"task": "fails", "agent": "cheap"}), ("delegate", {"task": "goes round"})),
        finish("Done."),
    )
    async with family(tmp_path, plays, unpriced) as live:
        await finished(live)
        failed, stuck = results(live)
        assert "LLM.input_cost_per_token" in failed
        assert failed.startswith("It failed: ")
        assert stuck.startswith("It was stopped because it repeated itself.")
        children = {child.task: child.status for child in live.state.ledger.children.values()}
        assert children == {"fails": ExecutionStatus.ERROR, "goes round": ExecutionStatus.STUCK}
        observed = [e for e in live.log() if isinstance(e, ObservationEvent) and e.tool_name == "delegate"]
        assert all(event.is_error for event in observed)


async def test_what_nobody_vouches_for_is_known_above_and_below(tmp_path: Path) -> None:
    @tool
    async def fetch() -> str:
        """Read a page."""
        return "Buy now."

    fetch = dataclasses.replace(fetch, labels=("web",))
    plays: dict[str, Play] = {
        "all": (delegate("first"), delegate("second"), finish("Done.")),
        "first": (delegate("reads"), finish("First.")),
        "reads": (call("fetch"), finish("Read.")),
        "second": (finish("Second."),),
    }
    async with family(tmp_path, plays, tools=[fetch]) as live:
        state = await finished(live)
        assert state.branch.labels == ("web",)
        first, second = (live.log(live.id_of(name))[0] for name in ("first", "second"))
        assert isinstance(first, ConversationCreated)
        assert isinstance(second, ConversationCreated)
        assert (first.labels, second.labels) == ((), ("web",))


async def test_an_interrupt_reaches_the_shells_of_grandchildren(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    chance = random.Random(str(tmp_path))
    marks = [unique_mark(chance) for _ in range(2)]
    plays: dict[str, Play] = {
        "all": (delegate("one", "two"), finish("Done.")),
        "one": (delegate("a"), finish("One.")),
        "two": (delegate("b"), finish("Two.")),
        "a": (call("terminal", command=processes(workspace, marks[0])), finish("A.")),
        "b": (call("terminal", command=processes(workspace, marks[1])), finish("B.")),
    }
    async with family(tmp_path, plays) as live:
        async with running(live.top):
            await eventually(lambda: [len(marked(m)) for m in marks] == [6, 6], "the commands' processes", SECONDS)
            await live.top.interrupt("enough")
            await eventually(lambda: not any(map(marked, marks)), "all is gone", SECONDS)
        assert live.state.status is ExecutionStatus.PAUSED
        assert not live.state.in_flight
        assert [len(results(live, name)) for name in (TOP, live.id_of("one"), live.id_of("two"))] == [2, 1, 1]
        assert all(text.startswith("Interrupted: ") for text in results(live))
        for name in ("one", "two", "a", "b"):
            assert any(isinstance(event, InterruptEvent) for event in live.log(live.id_of(name)))
        assert all(not child.open for child in live.state.ledger.children.values())
        assert len(live.runtime.hosts) == 1
        check_sums(live)
        await finished(live)


async def test_a_pause_goes_down_and_up_again(tmp_path: Path) -> None:
    gate = Gate()
    plays: dict[str, Play] = {
        "all": (delegate("one"), finish("Done.")),
        "one": (delegate("a"), finish("One.")),
        "a": (call("hold", name="first"), call("hold", name="second"), finish("A.")),
    }
    async with family(tmp_path, plays, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await eventually(lambda: gate.entered == ["first"], "the tool")
                await live.top.pause()
                await eventually(lambda: "PauseEvent" in kinds(live.log(live.id_of("a"))), "the pause below")
                gate.open.set()
            assert live.state.status is ExecutionStatus.PAUSED
            assert live.state.at_rest
            assert gate.entered == ["first"]
            assert kinds(live.log(live.id_of("a"))).count("ModelCallStarted") == 1
        await finished(live)
        assert gate.entered == ["first", "second"]
        check_sums(live)


def risky_plays() -> dict[str, Play]:
    return {
        "all": (delegate("one", "two"), lambda request: finish(" | ".join(told(request)))),
        "one": (delegate("a"), lambda request: finish(told(request)[-1])),
        "two": (delegate("b"), lambda request: finish(told(request)[-1])),
        "a": (call("terminal", command="rm -rf ~/a"), lambda request: finish(f"a: {told(request)[-1]}")),
        "b": (call("terminal", command="rm -rf ~/b"), lambda request: finish(f"b: {told(request)[-1]}")),
    }


def risky_agent() -> Agent:
    """One that asks before each command, and not before it delegates."""
    return agent(rules=(PermissionRule("ask", "terminal"),))


async def waiting(live: Family, number: int) -> list[str]:
    """Run until so many actions wait; their arguments."""
    with anyio.fail_after(SECONDS):
        state = await live.top.run()
    assert state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION, state.error
    pending = live.top.pending_confirmation
    assert len(pending) == number
    return [p.action.id for p in pending]


async def test_a_person_answers_for_grandchildren_one_by_one(tmp_path: Path) -> None:
    async with family(tmp_path, risky_plays(), risky_agent()) as live:
        first, second = await waiting(live, 2)
        shown = {p.action.id: bytes(p.action.arguments_json).decode() for p in live.top.pending_confirmation}
        assert "rm -rf" in shown[first]
        await live.top.reject("Not this one.", first)
        assert await waiting(live, 1) == [second]
        await live.top.reject("Nor this.", second)
        await live.top.reject("Twice.", second)
        await finished(live)
        said = results(live)
        assert any("Not this one." in text for text in said)
        assert any("Nor this." in text for text in said)
        rejected = [e for name in "ab" for e in live.log(live.id_of(name)) if isinstance(e, UserRejectObservation)]
        assert sorted(event.rejection_reason for event in rejected) == ["Nor this.", "Not this one."]
        check_sums(live)


async def test_what_is_approved_runs(tmp_path: Path) -> None:
    plays = risky_plays() | {"a": shell("echo made > a.txt"), "b": shell("echo made > b.txt")}
    async with family(tmp_path, plays, risky_agent()) as live:
        first, second = await waiting(live, 2)
        await live.top.confirm(first)
        assert await waiting(live, 1) == [second]
        await live.top.confirm()
        await finished(live)
        assert {path.name for path in (tmp_path / "workspace").glob("*.txt")} == {"a.txt", "b.txt"}


async def test_what_waits_below_survives_a_restart(tmp_path: Path) -> None:
    plays = risky_plays() | {"a": shell("echo made > a.txt"), "b": shell("echo made > b.txt")}
    async with family(tmp_path, plays, risky_agent()) as live:
        held = await waiting(live, 2)
        ids = [live.id_of(name) for name in ("one", "two", "a", "b")]
    async with reopened(tmp_path, plays) as live:
        assert live.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        assert [p.action.id for p in live.top.pending_confirmation] == held
        await live.top.confirm(held[0])
        assert await waiting(live, 1) == held[1:]
    async with reopened(tmp_path, plays) as live:
        await live.top.confirm()
        await finished(live)
        assert ids == [live.id_of(name) for name in ("one", "two", "a", "b")]
        assert {path.name for path in (tmp_path / "workspace").glob("*.txt")} == {"a.txt", "b.txt"}
        assert len(actions(live.log(ids[2]), "terminal")) == 1
        check_sums(live)


async def test_paused_while_it_waits_it_waits_again(tmp_path: Path) -> None:
    async with family(tmp_path, risky_plays(), risky_agent()) as live:
        held = await waiting(live, 2)
        await live.top.pause()
        assert live.state.at_rest
        await live.top.reject("No.", held[0])
        assert live.state.status is ExecutionStatus.PAUSED
        assert await waiting(live, 1) == held[1:]
        await live.top.reject("No.")
        await finished(live)


async def test_what_can_run_meanwhile_does(tmp_path: Path) -> None:
    """A child that waits for a person does not keep what comes after it in the batch from running."""
    plays: dict[str, Play] = {
        "all": (
            calls(
                ("delegate", {"task": "a"}),
                ("terminal", {"command": "echo 1 > one"}),
                ("terminal", {"command": "echo 2 > two"}),
            ),
            finish("Done."),
        ),
        "a": (call("erase", name="it"), finish("A.")),
    }

    @tool
    async def erase(name: str) -> str:
        """Erase it."""
        return "gone"

    spec = agent(Limits(tool_concurrency=2), rules=(PermissionRule("ask", "erase"),))
    async with family(tmp_path, plays, spec, tools=[erase]) as live:
        await waiting(live, 1)
        assert {path.name for path in (tmp_path / "workspace").iterdir()} == {"one", "two"}
        await live.top.confirm()
        await finished(live)


async def test_a_message_while_children_work_is_seen_after_them(tmp_path: Path) -> None:
    gate = Gate()
    client = model(HELD)
    async with family(tmp_path, client, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await eventually(lambda: gate.entered == ["a"], "the tool")
                await live.top.send_message("And be brief.", busy="steer")
                gate.open.set()
        assert live.state.status is ExecutionStatus.FINISHED
        last = client.requests[-1]
        assert [plain(m.content) for m in last.messages if m.role == "user"][-1] == "And be brief."
        assert not any(isinstance(event, InterruptEvent) for event in live.log())


async def test_closed_in_the_middle_children_go_on_under_their_ids(tmp_path: Path) -> None:
    gate, plays = (
        Gate(),
        {
            "all": (delegate("one", "two"), finish("Done.")),
            "one": (delegate("a"), finish("One.")),
            "two": (delegate("b"), finish("Two.")),
            "a": (call("terminal", command="echo a >> a.txt"), call("hold", name="a"), finish("A.")),
            "b": (call("terminal", command="echo b >> b.txt"), call("hold", name="b"), finish("B.")),
        },
    )
    async with family(tmp_path, plays, tools=[gate.tool]) as live:
        async with running(live.top) as scope:
            await eventually(lambda: sorted(gate.entered) == ["a", "b"], "both tools", SECONDS)
            scope.cancel()
        ids = {name: live.id_of(name) for name in ("one", "two", "a", "b")}
    assert sum(isinstance(event, ExecutionLost) for event in live.log()) == 2
    assert not len(live.runtime.hosts)
    async with reopened(tmp_path, plays, tools=[gate.tool]) as live:
        assert live.state.status is ExecutionStatus.PAUSED
        await finished(live)
        assert {name: live.id_of(name) for name in ids} == ids
        starts = [event.child_id for event in live.log() if isinstance(event, ChildStarted)]
        assert sorted(starts) == sorted([ids["one"], ids["two"]] * 2)
        assert [(tmp_path / "workspace" / f"{name}.txt").read_text() for name in "ab"] == ["a\n", "b\n"]
        for name in ids.values():
            tasks_given = [e for e in live.log(name) if isinstance(e, MessageEvent) and e.source == "user"]
            assert len(tasks_given) == 1
        assert all(text.split("\n")[0] in ("One.", "Two.") for text in results(live))
        check_sums(live)


async def test_who_was_stopped_below_goes_on_when_the_top_was_paused_and_runs_however_soon(tmp_path: Path) -> None:
    gate = Gate()
    plays: dict[str, Play] = {
        "all": (delegate("a"), finish("Done.")),
        "a": (call("hold", name="a"), call("hold", name="b"), finish("A.")),
    }
    async with family(tmp_path, plays, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await eventually(lambda: gate.entered == ["a"], "the tool")
                async with Conversation(id=live.id_of("a"), runtime=live.runtime) as below:
                    await below.pause()
                gate.open.set()
                paused = [ExecutionStatus.PAUSED]
                await eventually(lambda: [c.status for c in live.state.ledger.children.values()] == paused, "its rest")
                (top,) = (host for host in live.runtime.hosts if not host.delegated)
                assert top.group is not None
                await top.group.log.append(PauseEvent(), RunRequested())
        assert live.state.status is ExecutionStatus.FINISHED


async def test_a_person_below_grants_no_steps(tmp_path: Path) -> None:
    plays: dict[str, Play] = {
        "all": (delegate("a"), finish("Done.")),
        "a": (*(call("terminal", command=f"echo {n} >> out") for n in range(40)), finish("A.")),
    }
    async with family(tmp_path, plays, agent(Limits(max_steps=12), stuck=None)) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await eventually(lambda: any(host.delegated for host in live.runtime.hosts), "the child")
                async with Conversation(id=live.id_of("a"), runtime=live.runtime) as below:
                    while not below.state.status.over:
                        made = below.state.ledger.commands
                        await eventually(lambda: below.state.status.over or below.state.ledger.commands > made, "it")  # noqa: B023
                        await below.pause()
                        if below.state.status is ExecutionStatus.PAUSED:
                            await below.start_run()
    assert sum(isinstance(event, ModelCallStarted) for log in live.all() for event in log) <= 12


async def test_rules_of_the_session_hold_below(tmp_path: Path) -> None:
    plays: dict[str, Play] = {
        "all": (delegate("a"), finish("Done.")),
        "a": (call("terminal", command="echo no > no.txt"), lambda request: finish(told(request)[-1])),
    }
    async with family(tmp_path, plays) as live:
        await live.top.add_rule(PermissionRule("deny", "terminal"))
        await finished(live)
        assert "A rule denies terminal" in results(live)[0]
        assert not (tmp_path / "workspace" / "no.txt").exists()


async def test_a_log_below_that_cannot_be_written_is_told_above(tmp_path: Path) -> None:
    """What the child had used is counted, the other child and the parent go on."""
    gate = Gate()
    plays: dict[str, Play] = {
        "all": (delegate("big", "small"), finish("Done.")),
        "big": (
            call("terminal", command="seq 3000"),
            call("hold", name="big"),
            call("terminal", command="seq 3000"),
            finish("Never."),
        ),
        "small": (call("hold", name="small"), finish("Small.")),
    }
    async with family(tmp_path, plays, agent(Limits(max_cost=1.0, tool_concurrency=2)), [gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await eventually(lambda: sorted(gate.entered) == ["big", "small"], "both")
                size = (directory(live.runtime.store, live.id_of("big")) / "events.jsonl").stat().st_size
                assert size > 14_000
                with file_size_limit(size + 100):
                    gate.open.set()
                    await eventually(lambda: live.state.at_rest, "the end")
        assert live.state.status is ExecutionStatus.FINISHED, live.state.error
        big, small = sorted(results(live))
        assert big.startswith("It failed: its log cannot be written: File too large\n")
        assert "events.jsonl" not in big, "the store's paths are not for the model"
        assert small.startswith("Small.")
        check_sums(live)
        assert len(live.runtime.hosts) == 1


async def test_a_log_above_that_cannot_be_written_leaves_the_children_for_later(tmp_path: Path) -> None:
    gate = Gate()
    plays: dict[str, Play] = {
        "x" * 30_000: (delegate("one"), finish("Done.")),
        "one": (call("hold", name="one"), finish("One.")),
    }
    async with family(tmp_path, plays, tools=[gate.tool], task="x" * 30_000) as live:
        with anyio.fail_after(SECONDS):
            async with anyio.create_task_group() as tasks:

                async def run() -> None:
                    with pytest.raises(LogFailed):
                        await live.top.run()

                tasks.start_soon(run)
                await eventually(lambda: gate.entered == ["one"], "the tool")
                with file_size_limit(30_000):
                    with pytest.raises(LogFailed):
                        await live.top.rename("something")
        child_id = live.id_of("one")
    assert not len(live.runtime.hosts)
    gate.open.set()
    async with reopened(tmp_path, plays, tools=[gate.tool]) as live:
        await finished(live)
        assert live.id_of("one") == child_id
        check_sums(live)


class Rounds(Host):
    """A conversation that never rests, and counts how often the runtime would let it."""

    def __init__(self, rounds: int, hosts: Hosts) -> None:
        super().__init__("rounds", hosts)
        self._left, self.over = rounds, anyio.Event()

    async def rest(self, idle: float) -> bool:
        self._left -= 1
        if not self._left:
            self.over.set()
        return False


async def test_what_waits_below_is_not_let_sleep(tmp_path: Path) -> None:
    """The runtime lets conversations rest that nobody uses: these are held by the one that waits for them."""
    async with family(tmp_path, risky_plays(), risky_agent(), idle_after=0.0) as live:
        await waiting(live, 2)
        assert not await live.top.rest()
        seq, busy, rounds = live.state.seq, time.process_time(), Rounds(4, live.runtime.hosts)
        live.runtime.hosts.add(rounds)
        with anyio.fail_after(SECONDS), uncollected():
            await rounds.over.wait()
        live.runtime.hosts.forget(rounds)
        assert live.state.seq == seq
        assert time.process_time() - busy < 0.1, "waiting takes no work"
        await live.top.reject("No.")
        await finished(live)
        assert await live.top.rest()


async def test_an_interrupt_before_anything_has_begun_below_costs_nothing(tmp_path: Path) -> None:
    plays: dict[str, Play] = {
        "all": (delegate("one", "two"), finish("Done.")),
        "one": (finish("One."),),
        "two": (finish("Two."),),
    }
    async with family(tmp_path, plays, agent(Limits(max_cost=1.0, tool_concurrency=2))) as live:
        with anyio.fail_after(SECONDS):
            async for event in live.top.run():
                if isinstance(event, ChildStarted):
                    await live.top.interrupt()
        assert not live.state.in_flight
        check_sums(live)
        await finished(live)


@pytest.mark.parametrize("returned", [True, False])
async def test_what_was_interrupted_is_cut_also_when_it_is_closed_before_that_is_over(
    tmp_path: Path, returned: bool
) -> None:
    """What works below ends only while the conversation above is left; perhaps before the interrupt is on the disk."""
    entered, closing = anyio.Event(), anyio.Event()

    @tool
    async def linger() -> str:
        """End late."""
        entered.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await closing.wait()
        raise AssertionError

    plays: dict[str, Play] = {"all": (delegate("slow"),), "slow": (call("linger"),)}
    async with family(tmp_path, plays, agent(tools=(Tool("delegate"), Tool("linger"))), tools=[linger]) as live:
        async for _ in live.top.run():
            break
        with anyio.fail_after(SECONDS):
            await entered.wait()
        interrupt = asyncio.ensure_future(live.top.interrupt())
        await (interrupt if returned else anyio.lowlevel.checkpoint())
        closing.set()
    await interrupt
    (end,) = (event for event in live.log() if isinstance(event, ChildFinished))
    assert end.status is not ExecutionStatus.FINISHED
    assert "ExecutionLost" not in kinds(live.log())
    assert results(live)[0].startswith("Interrupted: the work was cut.")


async def test_left_and_interrupted_before_it_goes_on_costs_what_it_had_used(tmp_path: Path) -> None:
    gate = Gate()
    limits = Limits(max_cost=1.0, max_tokens=10**7)
    async with family(tmp_path, HELD_BELOW, agent(limits), tools=[gate.tool]) as live:
        async with running(live.top) as scope:
            await eventually(lambda: gate.entered == ["a"], "the tool", SECONDS)
            scope.cancel()
    async with reopened(tmp_path, HELD_BELOW, tools=[gate.tool]) as live:
        await live.top.interrupt()
        check_sums(live)
        assert live.state.ledger.cost < 0.01
        await finished(live)


async def test_what_is_always_allowed_is_allowed_below_too(tmp_path: Path) -> None:
    plays = risky_plays() | {
        "a": (call("terminal", command="echo same >> out"), call("terminal", command="echo same >> out"), finish("A.")),
        "b": (finish("B."),),
    }
    spec = agent(analyzer="rules", confirmation=ConfirmRisky(SecurityRisk.LOW), rules=(allow_delegation(),))
    async with family(tmp_path, plays, spec) as live:
        (held,) = await waiting(live, 1)
        await live.top.confirm(held, always="session")
        await finished(live)
        assert (tmp_path / "workspace" / "out").read_text() == "same\nsame\n"


def allow_delegation() -> PermissionRule:
    """Nobody is asked about what only delegates."""
    return PermissionRule("allow", "delegate")


@pytest.mark.simulated
async def test_what_a_named_agent_needs_is_looked_for_at_the_beginning(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="unknown security analyzer 'mine'"):
        async with family(tmp_path, {}, agent(agents={"other": agent(analyzer="mine")})):
            pass


async def test_a_message_that_interrupts_cuts_what_is_delegated(tmp_path: Path) -> None:
    gate = Gate()
    async with family(tmp_path, HELD_BELOW, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await eventually(lambda: gate.entered == ["a"], "the tool")
                await live.top.send_message("Stop that.", busy="interrupt")
        assert live.state.status is ExecutionStatus.FINISHED
        assert results(live)[0].startswith("Interrupted: ")
        check_sums(live)
