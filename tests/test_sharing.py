"""Conversations that several have open at once: one host, one log, and nobody who takes it from the others."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil
import pytest

from agentrt import LLM, Agent, Conversation, Event, ExecutionStatus, Limits, Runtime, ToolType, tool
from agentrt.context.replies import ModelReply
from agentrt.decisions.agents import with_tools
from agentrt.errors import ConfigurationError, ConversationExists, LogFailed
from agentrt.events import (
    ChildFinished,
    ExecutionLost,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ObservationEvent,
    PauseEvent,
    RunRequested,
    SecretsChanged,
    UserRejectObservation,
)
from agentrt.host.host import TAKEN_OVER
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain, text
from agentrt.storage import FileStore, read_conversation
from agentrt.storage.locks import is_held
from agentrt.testing import ScriptedLLM, call, finish, say
from tests.stores import directory

from .delegating import (
    TOP,
    Family,
    Gate,
    Play,
    agent,
    check_sums,
    delegate,
    family,
    reopened,
    steps_taken,
    task_of,
    told,
)
from .proofs.evidence import check_numbering
from .proofs.waiting import eventually
from .steering import running
from .test_conversation import file_size_limit
from .test_delegation import HELD, HELD_BELOW, results, risky_agent, waiting

pytestmark = pytest.mark.real

SECONDS = 20.0
STEPS = 6
"""What each leaf of a tree does."""

PLAIN = Agent(llm=LLM(model="scripted"), tools=())


@asynccontextmanager
async def child_of(live: Family, task: str = "a") -> AsyncIterator[Conversation]:
    """A look at the conversation that works on a task."""
    async with Conversation(id=live.id_of(task), runtime=live.runtime) as child:
        yield child


async def held(live: Family, gate: Gate, *names: str) -> None:
    """Return when these are at the gate."""
    await eventually(lambda: sorted(gate.entered) == sorted(names or ("a",)), "the tool", SECONDS)


async def follow(conversation: Conversation, seen: list[Event]) -> None:
    async for item in conversation.stream():
        if isinstance(item, Event):
            seen.append(item)


def runs(conversation: Conversation) -> bool:
    return conversation.state.status is ExecutionStatus.RUNNING


def check_followed(seen: list[Event], live: Family, task: str = "a") -> None:
    """Law: who follows has each event once, in order, as it is on disk."""
    assert seen == live.log(live.id_of(task))[: len(seen)]


def check_nothing_is_held(runtime: Runtime) -> None:
    """Law: what nobody has open has no place, and no lock."""
    assert not len(runtime.hosts)
    assert isinstance(runtime.store, FileStore)
    root = Path(runtime.store.places[0])
    names = [path.name for path in (root / "conversations").iterdir()]
    assert names
    assert not [name for name in names if is_held(root / "lock", name)]
    assert not [
        file.path for file in psutil.Process().open_files() if Path(file.path).is_relative_to(root / "conversations")
    ]


async def test_a_child_is_followed_while_its_parent_runs_it(tmp_path: Path) -> None:
    gate, seen = Gate(), list[Event]()
    async with family(tmp_path, HELD, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await held(live, gate)
                async with anyio.create_task_group() as followers, child_of(live) as child:
                    followers.start_soon(follow, child, seen)
                    assert runs(child)
                    await eventually(lambda: len(seen) == child.state.seq, "all that was said so far")
                    gate.open.set()
                    await eventually(lambda: live.state.status is ExecutionStatus.FINISHED, "the parent")
                    assert child.state.status is ExecutionStatus.FINISHED, "it is still there"
                    await child.rename("Looked at")
        check_followed(seen, live)
        assert len(seen) == len(live.log(live.id_of("a")))
        check_sums(live)
        assert len(live.runtime.hosts) == 1
    check_nothing_is_held(live.runtime)


async def test_who_leaves_first_takes_nothing_along(tmp_path: Path) -> None:
    gate = Gate()
    async with family(tmp_path, HELD, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await held(live, gate)
                for _ in range(3):
                    async with child_of(live):
                        pass
                gate.open.set()
        assert live.state.status is ExecutionStatus.FINISHED
        log = live.log(live.id_of("a"))
        assert not any(isinstance(event, InterruptEvent | PauseEvent | ExecutionLost) for event in log)
        assert results(live, live.id_of("a"), "hold") == ["a went through"]


async def test_a_person_answers_in_the_child_itself(tmp_path: Path) -> None:
    plays: dict[str, Play] = {
        "all": (delegate("a", "b"), lambda request: finish(" | ".join(told(request)))),
        "a": (call("terminal", command="echo made > a.txt"), finish("A.")),
        "b": (call("terminal", command="echo made > b.txt"), lambda request: finish(told(request)[-1])),
    }
    async with family(tmp_path, plays, risky_agent()) as live:
        await waiting(live, 2)
        async with child_of(live, "a") as one, child_of(live, "b") as other:
            assert len(one.pending_confirmation) == 1
            await one.confirm()
            await other.reject("Not that.")
            with anyio.fail_after(SECONDS):
                await eventually(lambda: live.state.status is ExecutionStatus.FINISHED, "the end")
        assert {path.name for path in (tmp_path / "workspace").glob("*.txt")} == {"a.txt"}
        assert any(isinstance(event, UserRejectObservation) for event in live.log(live.id_of("b")))
        check_sums(live)


async def test_a_message_in_the_child_is_answered_before_its_parent_goes_on(tmp_path: Path) -> None:
    gate = Gate()
    plays = HELD | {"a": (call("hold", name="a"), lambda request: finish(plain(request.messages[-1].content)))}
    async with family(tmp_path, plays, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await held(live, gate)
                async with child_of(live) as child:
                    await child.send_message("Be brief.")
                    gate.open.set()
        assert results(live)[0].startswith("Be brief.")


@pytest.mark.parametrize("cut", [False, True])
async def test_what_a_person_stopped_below_goes_on_when_one_says_so(tmp_path: Path, cut: bool) -> None:
    gate = Gate()
    plays = HELD | {"a": (call("hold", name="a"), call("hold", name="again"), finish("A."))}
    async with family(tmp_path, plays, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await held(live, gate)
                async with child_of(live) as child:
                    await (child.interrupt("wait") if cut else child.pause())
                    gate.open.set()
                    await eventually(lambda: live.state.ledger.children[child.id].status == "paused", "known above")
                    for _ in range(5):
                        await anyio.wait_all_tasks_blocked()
                    assert child.state.at_rest
                    assert gate.entered == ["a"]
                    assert runs(live.top)
                    await child.start_run()
        assert live.state.status is ExecutionStatus.FINISHED
        assert gate.entered == ["a", "again"]
        check_sums(live)


async def test_what_a_person_stopped_below_goes_on_with_the_one_above(tmp_path: Path) -> None:
    gate = Gate()
    plays = HELD | {"a": (call("hold", name="a"), call("hold", name="again"), finish("A."))}
    async with family(tmp_path, plays, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await held(live, gate)
                async with child_of(live) as child:
                    await child.pause()
                    gate.open.set()
                    await eventually(lambda: live.state.ledger.children[child.id].status == "paused", "known above")
                    await live.top.pause()
            assert live.state.at_rest
            assert (await live.top.run()).status is ExecutionStatus.FINISHED


async def test_nothing_runs_below_while_the_one_above_is_paused(tmp_path: Path) -> None:
    gate = Gate()
    plays = HELD | {"a": (call("hold", name="a"), call("hold", name="again"), finish("A."))}
    async with family(tmp_path, plays, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await held(live, gate)
                await live.top.pause()
                async with child_of(live) as child:
                    await eventually(lambda: child.state.status is ExecutionStatus.PAUSED, "the pause below")
                    await child.start_run()
                    await eventually(lambda: child.state.status is ExecutionStatus.PAUSED, "paused again")
                    gate.open.set()
            assert gate.entered == ["a"]
            await live.top.run()
        assert live.state.status is ExecutionStatus.FINISHED


async def test_whoever_looks_first_is_followed_by_the_parent(tmp_path: Path) -> None:
    gate, seen = Gate(), list[Event]()
    async with family(tmp_path, HELD, tools=[gate.tool]) as live:
        async with running(live.top) as scope:
            await held(live, gate)
            scope.cancel()
    async with reopened(tmp_path, HELD, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with child_of(live) as child, anyio.create_task_group() as tasks:
                tasks.start_soon(follow, child, seen)
                gate.open.set()
                await live.top.run()
                assert child.state.status is ExecutionStatus.FINISHED
                tasks.cancel_scope.cancel()
        assert live.state.status is ExecutionStatus.FINISHED
        assert results(live)[-1].startswith("A.")
        check_followed(seen, live)
        check_numbering(live.log(live.id_of("a")))
        check_sums(live)


async def test_what_a_person_runs_before_the_parent_does_is_taken_over(tmp_path: Path) -> None:
    """In order: what is under way below may end, and the parent goes on with what came of it."""
    gate = Gate()
    plays = HELD | {"a": (call("hold", name="a"), call("hold", name="again"), call("hold", name="last"), finish("A."))}
    async with family(tmp_path, plays, tools=[gate.tool]) as live:
        async with running(live.top) as scope:
            await held(live, gate)
            scope.cancel()
    async with reopened(tmp_path, plays, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with child_of(live) as child:
                await child.start_run()
                await held(live, gate, "a", "again")
                async with running(live.top):
                    await eventually(lambda: child.state.status is ExecutionStatus.PAUSED, "the pause")
                    gate.open.set()
        assert live.state.status is ExecutionStatus.FINISHED
        log = live.log(live.id_of("a"))
        assert [event.reason for event in log if isinstance(event, PauseEvent)][-1:] == [TAKEN_OVER]
        assert results(live, live.id_of("a"), "hold")[1:] == ["again went through", "last went through"]
        check_sums(live)


async def test_the_secrets_of_the_parent_are_those_of_a_child_that_was_looked_at_first(tmp_path: Path) -> None:
    gate = Gate()
    command = call("terminal", command="echo ${#TOKEN} characters")
    plays = HELD | {"a": (call("hold", name="a"), command, lambda request: finish(told(request)[-1]))}
    async with family(tmp_path, plays, tools=[gate.tool]) as live:
        await live.top.update_secrets({"TOKEN": "0123456789abcdef"})
        async with running(live.top) as scope:
            await held(live, gate)
            scope.cancel()
    gate.open.set()
    async with reopened(tmp_path, plays, tools=[gate.tool]) as live:
        async with child_of(live) as child:
            assert [*child.missing_secrets] == ["TOKEN"]
            await live.top.update_secrets({"TOKEN": "0123456789abcdef"})
            with anyio.fail_after(SECONDS):
                await live.top.run()
            assert not child.missing_secrets
        assert results(live)[-1].startswith("16 characters")
        assert any(isinstance(event, SecretsChanged) for event in live.log(live.id_of("a")))


async def test_a_parent_that_leaves_stops_the_child_and_not_those_who_look_on(tmp_path: Path) -> None:
    gate, seen = Gate(), list[Event]()
    async with family(tmp_path, HELD_BELOW, tools=[gate.tool]) as live:
        await live.top.start_run()
        await held(live, gate)
        ids = {task: live.id_of(task) for task in ("one", "a")}
        with anyio.fail_after(SECONDS):
            async with (
                anyio.create_task_group() as tasks,
                Conversation(id=ids["one"], runtime=live.runtime) as child,
                Conversation(id=ids["a"], runtime=live.runtime) as leaf,
            ):
                tasks.start_soon(follow, leaf, seen)
                await live.top.__aexit__(None, None, None)
                assert not live.state.in_flight
                assert (child.state.status, leaf.state.status) == (ExecutionStatus.PAUSED,) * 2
                assert [host.name for host in live.runtime.hosts] == list(ids.values())
                await leaf.rename("It was stopped")
                async with Conversation(id=TOP, runtime=live.runtime) as again:
                    gate.open.set()
                    assert (await again.run()).status is ExecutionStatus.FINISHED, again.state.error
                await eventually(lambda: len(seen) == leaf.state.seq, "all of it")
        check_followed(seen, live)
        assert sum(isinstance(event, ExecutionLost) for event in live.log()) == 1, "it went on"
        check_nothing_is_held(live.runtime)


async def test_after_its_result_was_taken_a_child_is_its_own(tmp_path: Path) -> None:
    """What it does then is no matter of the one that delegated, nor in the sum of the tree."""
    gate = Gate()
    plays = HELD | {"a": (call("hold", name="a"), finish("A."), finish("More."))}
    async with family(tmp_path, plays, agent(Limits(max_cost=1.0)), tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await held(live, gate)
                child = Conversation(id=live.id_of("a"), runtime=live.runtime)
                await child.__aenter__()
                for refused in (
                    child.grant(1.0),
                    child.configure(limits=Limits(max_cost=9.0)),
                    child.update_secrets({"TOKEN": "0123456789abcdef"}),
                ):
                    with pytest.raises(ConfigurationError, match="are those of that one"):
                        await refused
                gate.open.set()
            check_sums(live)
            cost = live.state.ledger.cost
            await child.grant(1.0)
            await child.send_message("And more?")
            assert (await child.run()).status is ExecutionStatus.FINISHED
            await child.__aexit__(None, None, None)
        assert live.state.ledger.cost == cost
        assert sum(isinstance(event, ChildFinished) for event in live.log()) == 1
        called = [event for event in live.log(child.id) if isinstance(event, ModelCalled)]
        assert len(called) == 3


async def test_what_is_asked_besides_in_a_child_counts_above(tmp_path: Path) -> None:
    gate = Gate()
    plays: dict[str, Play] = HELD | {"a": (call("hold", name="a"), finish("A."))}
    async with family(tmp_path, plays, agent(Limits(max_cost=1.0)), tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            async with running(live.top):
                await held(live, gate)
                async with child_of(live) as child:
                    await child.ask_agent("How is it going?")
                    assert "ask-agent" in child.state.ledger.spending
                gate.open.set()
        assert live.state.ledger.spending["ask-agent"].cost > 0
        assert live.state.ledger.cost == pytest.approx(live.spent().cost)


async def test_what_its_parent_holds_does_not_sleep(tmp_path: Path) -> None:
    async with family(tmp_path, HELD | {"a": (call("terminal", command="ls"), finish("A."))}, risky_agent()) as live:
        await waiting(live, 1)
        async with child_of(live) as child:
            assert not await child.rest()
            await live.top.confirm()
            with anyio.fail_after(SECONDS):
                await live.top.run()
            assert await child.rest()
            assert child.state.created is None
            await child.rename("Back")
            assert child.state.created is not None


async def test_leaving_the_runtime_leaves_the_tree_to_go_on(tmp_path: Path) -> None:
    """Whoever looks on when it ends: the parent is closed first, and its child is not taken for one that failed."""
    gate, seen = Gate(), list[Event]()
    async with anyio.create_task_group() as followers, family(tmp_path, HELD_BELOW, tools=[gate.tool]) as live:
        await live.top.start_run()
        await held(live, gate)
        child, leaf = (Conversation(id=live.id_of(task), runtime=live.runtime) for task in ("one", "a"))
        await child.__aenter__()
        await leaf.__aenter__()
        followers.start_soon(follow, leaf, seen)
        await anyio.wait_all_tasks_blocked()
        await live.runtime.__aexit__(None, None, None)
        check_nothing_is_held(live.runtime)
        await eventually(lambda: len(seen) == len(live.log(leaf.id)), "all of it, and the end")
        check_followed(seen, live)
        for name in (TOP, child.id):
            assert sum(isinstance(event, ExecutionLost) for event in live.log(name)) == 1
            assert not results(live, name)
    gate.open.set()
    async with reopened(tmp_path, HELD_BELOW, tools=[gate.tool]) as live:
        with anyio.fail_after(SECONDS):
            assert (await live.top.run()).status is ExecutionStatus.FINISHED
        check_sums(live)


async def test_two_have_one_open_and_the_last_of_them_closes_it(tmp_path: Path) -> None:
    gate = Gate()
    with_gate = Agent(llm=LLM(model="scripted"), tools=())
    model = ScriptedLLM([call("hold", name="a"), finish("Done.")])
    async with Runtime(tmp_path / "store", client=model) as runtime:
        first = Conversation(with_gate, tmp_path, runtime=runtime, id="c", tools=[gate.tool])
        await first.__aenter__()
        with pytest.raises(ConversationExists):
            async with Conversation(PLAIN, tmp_path, runtime=runtime, id="c"):
                pass
        second = Conversation(id="c", runtime=runtime)
        await second.__aenter__()
        await first.send_message("Go")
        await first.start_run()
        with anyio.fail_after(SECONDS):
            await eventually(lambda: gate.entered == ["a"], "the tool")
            seen = list[Event]()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, first, seen)
                await eventually(lambda: len(seen) == second.state.seq, "all so far")
                await first.__aexit__(None, None, None)  # which ends those that follow it
            with pytest.raises(ConfigurationError, match="was left"):
                await first.send_message("Hello?")
            gate.open.set()
            assert (await second.run()).status is ExecutionStatus.FINISHED
        await second.__aexit__(None, None, None)
        check_nothing_is_held(runtime)


async def test_nothing_is_begun_in_one_that_is_being_left(tmp_path: Path) -> None:
    """Somebody has it run at that moment: that is logged, and stopped."""
    entered, cut, release = anyio.Event(), anyio.Event(), anyio.Event()

    @tool
    async def linger() -> str:
        """Take a while to end."""
        entered.set()
        try:
            await anyio.sleep_forever()
        finally:
            cut.set()
            with anyio.CancelScope(shield=True):
                await release.wait()
        return "never"

    async with (
        Runtime(tmp_path / "store", client=ScriptedLLM([call("linger"), say("More.")])) as runtime,
        anyio.create_task_group() as tasks,
    ):
        _, group = await runtime.create(with_tools(PLAIN, ["linger"]), tmp_path, "c", tools=[linger])

        async def run_it() -> None:
            await cut.wait()
            await group.log.append(RunRequested())
            release.set()

        async with group:
            await group.begin()
            await group.log.append(MessageEvent(source="user", content=text("Go")), RunRequested())
            with anyio.fail_after(SECONDS):
                await entered.wait()
            await group.log.append(PauseEvent())
            tasks.start_soon(run_it)
        await runtime.release("c")
    happened = [type(event).__name__ for event in read_conversation(directory(runtime.store, "c"))]
    assert happened[-4:] == ["PauseEvent", "RunRequested", "AgentErrorEvent", "InterruptEvent"]


async def test_tools_that_contradict_are_refused(tmp_path: Path) -> None:
    def hold(words: str) -> ToolType:
        @tool
        async def greet(name: str) -> str:
            """Greet someone."""
            return f"{words}, {name}!"

        return greet

    hello, salut = hold("Hello"), hold("Salut")
    model = ScriptedLLM([call("greet", name="Ada"), finish("Done."), call("greet", name="Bob"), finish("Done.")])
    async with Runtime(tmp_path / "store", client=model) as runtime:
        conversation = Conversation(PLAIN, tmp_path, runtime=runtime, id="c", tools=[hello])
        await conversation.__aenter__()
        async with Conversation(id="c", runtime=runtime, tools=[hello]) as same, Conversation(id="c", runtime=runtime):
            assert same.state.seq == conversation.state.seq
            with pytest.raises(ConfigurationError, match="with other tools"):
                async with Conversation(id="c", runtime=runtime, tools=[salut]):
                    pass
            await same.send_message("greet")
            await same.run()
        async with Conversation(id="c", runtime=runtime) as looking:
            await conversation.__aexit__(None, None, None)
            async with Conversation(id="c", runtime=runtime, tools=[salut]) as other:
                await other.send_message("greet")
                await other.run()
            log = [event async for event in looking.events()]
    said = [plain(e.content) for e in log if isinstance(e, ObservationEvent) and e.tool_name == "greet"]
    assert said == ["Hello, Ada!", "Salut, Bob!"]


async def test_other_tools_have_to_wait_for_what_is_at_work(tmp_path: Path) -> None:
    gate, other = Gate(), Gate()
    model = ScriptedLLM([call("hold", name="a"), finish("Done.")])
    async with Runtime(tmp_path / "store", client=model, tools=[gate.tool]) as runtime:
        spec = Agent(llm=LLM(model="scripted"), tools=(*PLAIN.tools,))
        async with Conversation(spec, tmp_path, runtime=runtime, id="c", tools=[gate.tool]) as conversation:
            await conversation.send_message("Go")
            await conversation.start_run()
            async with Conversation(id="c", runtime=runtime) as looking:
                await eventually(lambda: gate.entered == ["a"], "the tool", SECONDS)
                await conversation.__aexit__(None, None, None)
                with pytest.raises(ConfigurationError, match="is running"):
                    async with Conversation(id="c", runtime=runtime, tools=[other.tool]):
                        pass
                gate.open.set()
                with anyio.fail_after(SECONDS):
                    assert (await looking.run()).status is ExecutionStatus.FINISHED


@pytest.mark.simulated
async def test_whoever_comes_to_one_whose_log_failed_finds_it_opened_again(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "store", client=ScriptedLLM([say("Yes.")])) as runtime:
        async with Conversation(PLAIN, tmp_path, runtime=runtime, id="c") as first:
            await first.send_message("x" * 20_000)
            with file_size_limit(20_000), pytest.raises(LogFailed):
                await first.send_message("more")
            async with Conversation(id="c", runtime=runtime) as second:
                await second.send_message("hi")
                assert (await first.run()).status is ExecutionStatus.FINISHED
        check_numbering(read_conversation(directory(runtime.store, "c")))


@pytest.mark.simulated
async def test_outside_of_its_runtime_nothing_is_opened(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([]))
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="the runtime is not entered"):
            async with Conversation(PLAIN, tmp_path, runtime=runtime):
                pass
        async with runtime:
            pass


class Crowd:
    """Many who open the conversations of a tree, look on, answer, stop, go on and leave, or are cut at any moment."""

    def __init__(self, live: Family, seed: int) -> None:
        self._live, self._chance = live, random.Random(seed)
        self.over = False
        self.looked = 0

    async def one(self) -> None:
        """Somebody who comes and goes until it is over."""
        while not self.over:
            self.looked += 1
            if self._chance.random() < 0.5:
                with anyio.move_on_after(self._chance.uniform(0.0, 0.02)):
                    await self._look()
            else:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._look(), self._chance.uniform(0.001, 0.02))
            for _ in range(self._chance.randrange(8)):
                await anyio.lowlevel.checkpoint()

    async def fix(self) -> None:
        """Have those go on that somebody paused who was cut before he could."""
        while not self.over:
            paused = [name for name, child in self._live.state.ledger.children.items() if child.status == "paused"]
            for name in paused:
                async with Conversation(id=name, runtime=self._live.runtime) as conversation:
                    await conversation.start_run()
            await anyio.sleep(0.01)

    async def _look(self) -> None:
        children = [*self._live.state.ledger.children]
        name = self._chance.choice([TOP, *children])
        if not (directory(self._live.runtime.store, name) / "events.jsonl").exists():
            await anyio.lowlevel.checkpoint()
            return
        async with Conversation(id=name, runtime=self._live.runtime) as conversation:
            match self._chance.choice(["read", "follow", "rest", "pause", "confirm", "name"]):
                case "read":
                    check_numbering([event async for event in conversation.events()])
                case "follow":
                    await follow(conversation, [])
                case "rest":
                    await conversation.rest()
                case "pause" if name != TOP:
                    await conversation.pause()
                    await conversation.start_run()
                case "confirm":
                    await conversation.confirm()
                case _:
                    await conversation.rename("A name")


def tree(*delegated: ModelReply) -> ScriptedLLM:
    """A model of a top that delegates, and of leaves that each do something over and over, and finish."""
    leaf = [call("terminal", command=f"sleep 0.02; echo {number} >> out") for number in range(STEPS)]

    def script(request: ModelRequest) -> ModelReply:
        play = [*delegated, finish("Done.")] if task_of(request) == "all" else [*leaf, finish("A leaf.")]
        return play[min(steps_taken(request), len(play) - 1)]

    return ScriptedLLM(script)


async def crowded(tmp_path: Path, seed: int) -> None:
    """A tree that does its work in a crowd: all of it, once, and nothing is left open."""
    model = tree(delegate("one", "two"), delegate("three", "four"))
    spec = agent(Limits(tool_concurrency=2, max_cost=5.0), stuck=None)
    async with family(tmp_path, model, spec) as live:
        crowd = Crowd(live, seed)
        with anyio.fail_after(2 * SECONDS):
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(crowd.one)
                tasks.start_soon(crowd.fix)
                await live.top.run()
                crowd.over = True
        assert live.state.status is ExecutionStatus.FINISHED, live.state.error
        assert crowd.looked > 5
        counted = Counter((tmp_path / "workspace" / "out").read_text().split())
        assert counted == dict.fromkeys(map(str, range(STEPS)), 4)
        check_sums(live)
        for log in live.all():
            check_numbering(log)
            assert sum(isinstance(event, MessageEvent) and event.source == "user" for event in log) == 1
        await eventually(lambda: [host.name for host in live.runtime.hosts] == [TOP], "whoever was cut has left")
    check_nothing_is_held(live.runtime)


async def left_and_entered(tmp_path: Path, seed: int) -> None:
    """The same, and the top is left and entered again, too: children that somebody has open are stopped and go on."""
    chance = random.Random(seed)
    spec = agent(Limits(tool_concurrency=2, max_cost=5.0), stuck=None)
    async with family(tmp_path, tree(delegate("one", "two")), spec) as live:
        crowd, runtime = Crowd(live, seed), live.runtime
        with anyio.fail_after(2 * SECONDS):
            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(crowd.one)
                tasks.start_soon(crowd.fix)
                while live.top.state.status is not ExecutionStatus.FINISHED:
                    with anyio.move_on_after(chance.uniform(0.01, 0.2)):
                        await live.top.run()
                    again = Conversation(id=TOP, runtime=runtime)
                    if chance.random() < 0.5:
                        await live.top.__aexit__(None, None, None)
                        await again.__aenter__()
                    else:
                        await again.__aenter__()
                        await live.top.__aexit__(None, None, None)
                    live.top = again
                crowd.over = True
        counted = Counter((tmp_path / "workspace" / "out").read_text().split())
        assert all(counted[str(number)] <= 2 for number in range(STEPS)), "nothing is done twice"
        check_sums(live)
        for log in live.all():
            check_numbering(log)
        await live.top.__aexit__(None, None, None)
        await eventually(lambda: not len(runtime.hosts), "whoever was cut has left")
        check_nothing_is_held(runtime)


@pytest.mark.parametrize("seed", range(1))
async def test_a_few_moments_in_a_crowd(tmp_path: Path, seed: int) -> None:
    await crowded(tmp_path, seed)
    await left_and_entered(tmp_path / "again", seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
async def test_any_moment_in_a_crowd(tmp_path: Path, seed: int) -> None:
    await crowded(tmp_path, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 240))
async def test_any_moment_in_a_crowd_in_which_the_top_comes_and_goes(tmp_path: Path, seed: int) -> None:
    await left_and_entered(tmp_path, seed)
