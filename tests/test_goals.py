"""Critics and goals: what the agent finishes is judged, and it is sent back to work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from agentrt import (
    LLM,
    Agent,
    Conversation,
    Critic,
    CriticResult,
    Event,
    ExecutionStatus,
    GoalStatus,
    Limits,
    Runtime,
    tool,
)
from agentrt.errors import ConfigurationError, ConversationBusy, ModelUnavailable
from agentrt.events import CriticAssessed, MessageEvent, ModelCalled
from agentrt.protocols import ModelRequest
from agentrt.replaying import replay
from agentrt.specs import WorkspaceSpec
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, call, calls, finish, say
from agentrt.testing.scripted import Turn

from .steering import HeldModel, running

pytestmark = pytest.mark.real

PRICED = LLM(model="scripted", input_cost_per_token=1e-6, output_cost_per_token=2e-6)
NO = '{"score": 0.3, "complete": false, "missing": "the tests"}'
YES = 'I looked at it.\n```json\n{"score": 0.95, "complete": true, "missing": null}\n```'


@tool
async def work() -> str:
    """Work."""
    return "worked"


def model(agent: Iterable[Turn], judge: Iterable[Turn] = ()) -> ScriptedLLM:
    """Gives turns to the agent and to the judge, each in their order."""
    turns, verdicts = iter(agent), iter(judge)

    def script(request: ModelRequest) -> Turn:
        return next(verdicts) if judges(request) else next(turns)

    return ScriptedLLM(script)


def judges(request: ModelRequest) -> bool:
    return plain(request.messages[0].content).startswith("You judge")


class Marks:
    """A critic that gives these marks, the last of them again and again; it notes what it was shown."""

    def __init__(self, *marks: CriticResult | Exception) -> None:
        self._marks = list(marks)
        self.shown: list[Sequence[Event]] = []

    async def evaluate(self, events: Sequence[Event], workspace: WorkspaceSpec) -> CriticResult:
        self.shown.append(events)
        mark = self._marks.pop(0) if len(self._marks) > 1 else self._marks[0]
        if isinstance(mark, Exception):
            raise mark
        return mark


@asynccontextmanager
async def working(
    folder: Path,
    client: ScriptedLLM | HeldModel,
    critics: Mapping[str, Callable[[], Marks]] = {},
    *,
    id: str | None = None,
    **fields: object,
) -> AsyncIterator[Conversation]:
    async with Runtime(folder / "store", client=client, tools=[work], critics=critics) as runtime:
        opened = (
            Conversation(id=id, runtime=runtime)
            if id is not None
            else Conversation(
                Agent(**{"llm": PRICED, "tools": ()} | fields),  # type: ignore[arg-type]
                folder,
                runtime=runtime,
                tools=[work],
                id="c",
            )
        )
        async with opened as conversation:
            yield conversation


def marked(marks: Marks, **fields: object) -> dict[str, object]:
    return {"critics": {"marks": lambda: marks}, "critic": Critic("marks", **fields)}  # type: ignore[arg-type]


def assessments(events: Iterable[Event]) -> list[CriticAssessed]:
    return [event for event in events if isinstance(event, CriticAssessed)]


async def run(conversation: Conversation, words: str = "Work.") -> list[Event]:
    await conversation.send_message(words)
    return [event async for event in conversation.run()]


async def test_a_critic_sends_the_agent_back_until_it_is_content(tmp_path: Path) -> None:
    marks = Marks(CriticResult(0.2, "a test"), CriticResult(0.6))
    client = model([finish("Done."), call("work"), say("Done now.")])
    async with working(tmp_path, client, **marked(marks)) as conversation:  # type: ignore[arg-type]
        events = await run(conversation)
        assert conversation.state.status is ExecutionStatus.FINISHED
        assert [(a.score, a.success) for a in assessments(events)] == [(0.2, False), (0.6, True)]
        told = "This is not done yet (score 0.20). What is missing: a test"
        assert plain(client.requests[1].messages[-1].content) == told
    assert [type(event).__name__ for event in marks.shown[0][-2:]] == ["ActionEvent", "ObservationEvent"]


async def test_a_critic_may_want_more_however_high_the_score_is(tmp_path: Path) -> None:
    marks = Marks(CriticResult(0.9, "a test", refine=True, metadata={"found": {"untested": 0.8}}), CriticResult(0.9))
    async with working(tmp_path, model([say("Done."), say("Tested.")]), **marked(marks)) as conversation:  # type: ignore[arg-type]
        first, second = assessments(await run(conversation))
        assert (first.success, first.refine, first.metadata) == (False, True, {"found": {"untested": 0.8}})
        assert (second.success, second.refine, second.metadata) == (True, False, {})
    assert (await replay(events_of(tmp_path), [work])).difference is None


async def test_a_critic_that_is_never_content_sends_it_back_so_often_and_no_more(tmp_path: Path) -> None:
    marks = Marks(CriticResult(0.0, "everything"))
    client = model([say("Done.")] * 9)
    async with working(tmp_path, client, **marked(marks, max_iterations=2)) as conversation:  # type: ignore[arg-type]
        for runs in (1, 2):
            events = await run(conversation)
            assert conversation.state.status is ExecutionStatus.FINISHED
            assert len(assessments(events)) == 3
            assert len(client.requests) == 3 * runs


async def test_a_critic_that_fails_ends_the_run_and_says_so(tmp_path: Path) -> None:
    marks = Marks(OSError("the disk is gone"), CriticResult(1.0))
    async with working(tmp_path, model([say("Done.")]), **marked(marks)) as conversation:  # type: ignore[arg-type]
        await run(conversation)
        error = conversation.state.error
        assert error is not None
        assert (error.code, error.detail) == ("critic", "the work could not be judged: OSError: the disk is gone")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED, "it is judged again"


async def test_a_critic_that_is_taken_back_says_nothing_more(tmp_path: Path) -> None:
    marks = Marks(OSError("the disk is gone"))
    async with working(tmp_path, model([say("Done.")]), **marked(marks)) as conversation:  # type: ignore[arg-type]
        await run(conversation)
        await conversation.configure(critic=None)
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


async def test_a_built_in_critic_wants_a_changed_file(tmp_path: Path) -> None:
    await anyio.run_process(["git", "init", "-q", str(tmp_path)])
    (tmp_path / ".gitignore").write_text("store\n.gitignore\n")

    @tool
    async def change() -> str:
        """Change a file."""
        (tmp_path / "new.txt").write_text("new")
        return "changed"

    client = model([say("Done."), call("work"), say("Done."), call("change"), say("Done now.")])
    async with Runtime(tmp_path / "store", client=client) as runtime:
        spec = Agent(llm=PRICED, tools=(), critic=Critic("empty_patch"))
        async with Conversation(spec, tmp_path, runtime=runtime, tools=[work, change]) as conversation:
            events = await run(conversation)
    assert [a.message.partition(":")[0] for a in assessments(events)] == [
        "nothing was done",
        "no file of the repository is changed",
        "",
    ]


@pytest.mark.simulated
async def test_an_unknown_critic_is_refused_at_the_beginning(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match="unknown critic 'strict': known are agent_finished, empty_patch, pass"
    ):
        async with working(tmp_path, model([]), critic=Critic("strict")):
            pass


async def test_a_goal_is_judged_until_it_is_reached(tmp_path: Path) -> None:
    client = model([say("Done."), call("work"), finish("Done now."), say("Hi.")], [say(NO), say(YES)])
    async with working(tmp_path, client) as conversation:
        await conversation.set_goal("all tests pass")
        events = await run(conversation)
        assert conversation.state.status is ExecutionStatus.FINISHED
        goal = conversation.state.ledger.goal
        assert goal is not None
        assert (goal.outcome, goal.iterations, goal.score) == ("complete", 2, 0.95)
        assert [(a.critic, a.success) for a in assessments(events)] == [("goal", False), ("goal", True)]
        judged = [plain(r.messages[1].content) for r in client.requests if judges(r)]
        assert "<objective>\nall tests pass\n</objective>" in judged[0]
        assert "result: worked" in judged[1]
        spent = conversation.state.ledger.spending
        called = [e for e in events if isinstance(e, ModelCalled) and e.usage_id == "goal"]
        assert spent["goal"].calls == len(called) == 2
        assert spent["goal"].cost == pytest.approx(sum(e.cost or 0 for e in called))
        assert spent["goal"].cost > 0
        await run(conversation, "Hello?")
        assert len(judged) == len([r for r in client.requests if judges(r)]), "it is reached"
    async with working(tmp_path, model([]), id="c") as conversation:
        assert conversation.state.ledger.goal == goal


@pytest.mark.parametrize("verdict", ["It is fine.", "{}", '{"complete": maybe}', "", '{"complete": true'])
async def test_a_verdict_that_cannot_be_read_is_no_and_the_goal_has_a_limit(tmp_path: Path, verdict: str) -> None:
    client = model([say("Done.")] * 3, [say(verdict)] * 3)
    async with working(tmp_path, client) as conversation:
        await conversation.set_goal("all tests pass", max_iterations=3)
        await run(conversation)
        goal = conversation.state.ledger.goal
        assert goal is not None
        assert (conversation.state.status, goal.outcome, goal.iterations) == (ExecutionStatus.FINISHED, "capped", 3)


async def test_another_model_may_judge(tmp_path: Path) -> None:
    client = model([say("Done.")], [say(YES)])
    async with working(tmp_path, client) as conversation:
        await conversation.set_goal("done", judge=LLM(model="strict", output_cost_per_token=1.0))
        await run(conversation)
    assert [(one.one.model, one.one.usage_id) for one in client.requests] == [
        ("scripted", "default"),
        ("strict", "goal"),
    ]


async def test_a_goal_that_is_judged_goes_on_after_an_interrupt(tmp_path: Path) -> None:
    client = HeldModel([say("Done."), say(YES)], held=[1])
    async with working(tmp_path, client) as conversation:
        await conversation.set_goal("done")
        await conversation.send_message("Work.")
        async with running(conversation):
            await client.calling()
            await conversation.interrupt()
        state = conversation.state
        assert (state.status, state.goal_status, client.cut) == (ExecutionStatus.PAUSED, GoalStatus.INTERRUPTED, 1)
    async with working(tmp_path, client, id="c") as conversation:
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        goal = conversation.state.ledger.goal
        assert goal is not None
        assert (goal.outcome, goal.iterations) == ("complete", 1)
        errors = [e.error async for e in conversation.events() if isinstance(e, ModelCalled) and e.usage_id == "goal"]
    assert errors == ["interrupted", None]


async def test_a_goal_that_is_taken_back_while_it_is_judged_holds_nothing_up(tmp_path: Path) -> None:
    client = HeldModel([say("Done."), say(NO)], held=[1])
    async with working(tmp_path, client) as conversation:
        await conversation.set_goal("done")
        await conversation.send_message("Work.")
        async with running(conversation):
            await client.calling()
            await conversation.set_goal("")
            client.release()
        assert conversation.state.status is ExecutionStatus.FINISHED
        assert len(client.requests) == 2


async def test_a_message_while_it_is_judged_goes_before_the_verdict(tmp_path: Path) -> None:
    client = HeldModel([say("Done."), say(NO), say("Oh."), say(YES)], held=[1])
    async with working(tmp_path, client) as conversation:
        await conversation.set_goal("done")
        await conversation.send_message("Work.")
        async with running(conversation):
            await client.calling()
            await conversation.send_message("One thing more.")
            client.release()
        assert conversation.state.status is ExecutionStatus.FINISHED
        goal = conversation.state.ledger.goal
        assert goal is not None
        assert goal.outcome == "complete"
        assert client.seen(2).endswith("One thing more.")


async def test_a_judge_that_fails_ends_the_run_and_says_so(tmp_path: Path) -> None:
    client = model([say("Done.")], [ModelUnavailable("the provider is down"), say(YES)])
    async with working(tmp_path, client) as conversation:
        await conversation.set_goal("done")
        await run(conversation)
        error = conversation.state.error
        assert error is not None
        assert "the work could not be judged" in error.detail
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


async def test_a_judge_is_paid_from_the_same_budget(tmp_path: Path) -> None:
    client = model([say("Done." * 50)], [say(YES)])
    async with working(tmp_path, client, limits=Limits(max_cost=0.0009)) as conversation:
        await conversation.set_goal("done")
        await run(conversation, "Work." * 60)
        state = conversation.state
        assert state.error is not None
        assert state.error.code in ("budget", "max_cost", "budget_exceeded")
        assert state.ledger.cost <= 0.0009
        assert not [r for r in client.requests if judges(r)]
        await conversation.grant(1.0)
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        goal = conversation.state.ledger.goal
        assert goal is not None
        assert goal.outcome == "complete"


async def test_what_is_missing_comes_from_the_environment_and_not_from_the_user(tmp_path: Path) -> None:
    client = model([say("Done."), say("Done.")], [say(NO), say(YES)])
    async with working(tmp_path, client) as conversation:
        await conversation.set_goal("done")
        events = await run(conversation)
    told = [event for event in events if isinstance(event, MessageEvent) and event.source == "environment"]
    (assessed, _) = assessments(events)
    assert [event.caused_by for event in told] == [assessed.id]


async def test_a_critic_of_all_actions_also_judges_each_step_and_sends_nobody_back_for_it(tmp_path: Path) -> None:
    marks = Marks(CriticResult(0.1, "all"), CriticResult(0.2, "much"), CriticResult(0.3, "a test"), CriticResult(1.0))
    client = model([calls(("work", {}), ("think", {"thought": "Hm."})), call("work"), say("Done."), say("Done now.")])
    async with working(tmp_path, client, **marked(marks, mode="all_actions")) as conversation:  # type: ignore[arg-type]
        events = await run(conversation)
        assert conversation.state.status is ExecutionStatus.FINISHED
    verdicts = assessments(events)
    assert [(a.score, a.midway) for a in verdicts] == [(0.1, True), (0.2, True), (0.3, False), (1.0, False)]
    shown = [[type(event).__name__ for event in each[2:]] for each in marks.shown]
    assert shown[0] == ["ActionEvent"] * 2 + ["ObservationEvent"] * 2
    told = [event.caused_by for event in events if isinstance(event, MessageEvent) and event.source == "environment"]
    assert told == [verdicts[2].id], "of what was judged midway the agent hears nothing"
    assert (await replay(events_of(tmp_path), [work])).difference is None


async def test_a_goal_is_worked_on_until_it_is_reached(tmp_path: Path) -> None:
    client = model([say("Done."), call("work"), say("Tested.")], [say(NO), say(YES)])
    async with working(tmp_path, client) as conversation:
        assert conversation.state.goal_status is None
        state = await conversation.run_goal("all tests pass", max_iterations=5)
        assert state.ledger.goal is not None
        assert (state.status, state.goal_status) == (ExecutionStatus.FINISHED, GoalStatus.COMPLETE)
        assert state.ledger.goal.iterations == 2
        assert plain(client.requests[0].messages[-1].content) == "all tests pass", "the agent is told"


async def test_a_verdict_is_about_the_goal_that_was_judged(tmp_path: Path) -> None:
    client = HeldModel([say("Done."), say(YES), say(YES)], held=[1])
    async with working(tmp_path, client) as conversation:
        await conversation.set_goal("the old goal")
        await conversation.send_message("Work.")
        async with running(conversation):
            await client.calling()
            await conversation.set_goal("the new goal")
            client.release()
        assert "the new goal" in client.seen(), "it is judged by itself"
        goal = conversation.state.ledger.goal
        assert goal is not None
        assert (goal.set.objective, goal.outcome, goal.iterations) == ("the new goal", "complete", 1)


@pytest.mark.parametrize("mark", [CriticResult(0.9, "\ud800"), CriticResult(0.9, metadata={"what": object()})])
async def test_what_cannot_be_logged_of_a_verdict_does_not_stop_a_run_for_good(
    tmp_path: Path, mark: CriticResult
) -> None:
    async with working(tmp_path, model([say("Done.")]), **marked(Marks(mark))) as conversation:  # type: ignore[arg-type]
        await run(conversation)
        assert conversation.state.status is (ExecutionStatus.ERROR if mark.metadata else ExecutionStatus.FINISHED)


async def test_a_critic_that_cancels_itself_fails_and_nobody_else_is_cancelled(tmp_path: Path) -> None:
    class Cancelled(Marks):
        async def evaluate(self, events: Sequence[Event], workspace: WorkspaceSpec) -> CriticResult:
            raise asyncio.CancelledError

    async with working(tmp_path, model([say("Done.")]), **marked(Cancelled())) as conversation:  # type: ignore[arg-type]
        await run(conversation)
        assert conversation.state.error is not None
        assert "nobody had asked for that" in conversation.state.error.detail


async def test_a_critic_that_fails_midway_says_so_and_the_run_goes_on(tmp_path: Path) -> None:
    marks = Marks(OSError("the disk is gone"), ModelUnavailable("the provider is down"), CriticResult(1.0))
    client = model([call("work"), call("work"), say("Done.")])
    async with working(tmp_path, client, **marked(marks, mode="all_actions")) as conversation:  # type: ignore[arg-type]
        events = await run(conversation)
        assert conversation.state.status is ExecutionStatus.FINISHED
    assert [(a.success, a.error) for a in assessments(events)] == [
        (False, "OSError: the disk is gone"),
        (False, "ModelUnavailable: the provider is down"),
        (True, ""),
    ]
    assert (await replay(events_of(tmp_path), [work])).difference is None


def events_of(folder: Path) -> list[Event]:
    return read_conversation(folder / "store" / "conversations" / "c")


async def test_a_goal_that_comes_after_the_end_is_judged_by_the_next_run(tmp_path: Path) -> None:
    client = model([say("Done."), say("Tested.")], [say(NO), say(YES)])
    async with working(tmp_path, client) as conversation:
        await run(conversation)
        await conversation.set_goal("all tests pass")
        state = await conversation.run()
        assert (state.status, state.goal_status) == (ExecutionStatus.FINISHED, GoalStatus.COMPLETE)
        assert len(client.requests) == 4
        await conversation.run()
        assert len(client.requests) == 4, "it is judged once"


async def test_a_goal_that_is_refused_with_its_message_is_not_set(tmp_path: Path) -> None:
    client = HeldModel([say("Done.")])
    async with working(tmp_path, client) as conversation:
        await conversation.configure(busy="reject")
        await conversation.send_message("Work.")
        async with running(conversation):
            await client.calling()
            with pytest.raises(ConversationBusy):
                await conversation.run_goal("something else")
            client.release()
        assert conversation.state.goal_status is None


async def test_who_finishes_in_the_same_words_has_all_of_its_rounds(tmp_path: Path) -> None:
    client = model([finish("All tests pass.")] * 6, [say(NO)] * 6)
    async with working(tmp_path, client) as conversation:
        state = await conversation.run_goal("all tests pass", max_iterations=6)
        assert (state.status, state.goal_status) == (ExecutionStatus.FINISHED, GoalStatus.CAPPED)
