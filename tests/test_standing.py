"""Texts in force after condensations: activated skills, rules of directories, the plan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeGuard

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt import LLM, Agent, AgentContext, Conversation, Limits, LLMSummarizingCondenser, Runtime, Skill, tool
from agentrt.context.condensing import InForce, in_force
from agentrt.events import Condensation, Event, ObservationEvent, SkillActivated
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.state import Seen, branch
from agentrt.state.seeing import STANDING
from agentrt.state.skills import paths_named
from agentrt.testing import ScriptedLLM, call, finish, say
from agentrt.testing.scripted import Turn
from tests.condensing import SUMMARY, agent, is_question, look

RULE = "Reports are named in capital letters."


@pytest.mark.pure
def test_the_newest_of_each_stays_most_recent_first() -> None:
    gone = [Seen(n, str(n), "SkillActivated", tokens=10, stands=f"skill:{name}") for n, name in enumerate("abac")]
    rest = [Seen(9, "9", "ObservationEvent", tokens=200)]
    assert in_force([*gone, *rest], (), 30).kept == ("1", "2", "3")
    assert in_force([*gone, *rest], (), 20) == InForce(("2", "3"), ("skill:b",), 20)
    assert in_force([*gone, *rest], [Seen(10, "x", STANDING, stands="skill:c")], 99).kept == ("1", "2"), (
        "a newer one is in the view"
    )
    assert in_force(gone, (), 1000).tokens == 20, "half of what is forgotten at most"


@pytest.mark.pure
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat sub/a.txt", ("/w/cat", "/w/sub/a.txt")),
        ("grep -rn --include=*.py needle ./sub '/etc/a b'", ("/w/grep", "/w/needle", "/w/sub")),
        ("cat <x.txt>/tmp/y", ("/w/cat", "/w/x.txt", "/tmp/y")),
        ("ls $HOME *.c ~/x", ("/w/ls",)),
        ("head --lines=3 --file=a/b", ("/w/head", "/w/3", "/w/a/b")),
        ("echo 'unclosed", ("/w/echo",)),
        ("", ()),
    ],
)
def test_a_command_names_paths(command: str, expected: tuple[str, ...]) -> None:
    assert paths_named(command, "/w") == expected


def long_run(steps: Iterator[Turn]) -> ScriptedLLM:
    """A model that takes these steps, and sums up when it is asked to."""
    return ScriptedLLM(lambda request: say(SUMMARY) if is_question(request) else next(steps))


def looked(count: int) -> Iterator[Turn]:
    return (call("look", where=f"place {number}") for number in range(count))


def an_agent(*tools: Any, window: int = 0, **more: Any) -> Agent:
    llm = LLM("scripted", max_input_tokens=window) if window else LLM("scripted")
    given = {"condenser": LLMSummarizingCondenser(max_size=12), "stuck": None}
    return agent(llm=llm, tools=(look, *tools), **given | more)


def shown(request: ModelRequest) -> str:
    return "\n".join(plain(message.content) for message in request.messages[1:])


@pytest.mark.real
@pytest.mark.parametrize(
    "step",
    [
        call("terminal", command="cat web/a.txt"),
        call("terminal", command="grep -c letters web/a.txt"),
        call("terminal", command="grep -c nothing web/a.txt"),
        call("terminal", command="cd web"),
        call("grep", pattern="letters", path="web"),
        call("file_editor", command="view", path="web/a.txt"),
    ],
    ids=["cat", "grep", "grep-without-a-match", "cd", "the-tool-grep", "file_editor"],
)
async def test_the_rules_of_a_directory_come_by_any_call_and_stay(tmp_path: Path, step: Turn) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/AGENTS.md").write_text(RULE)
    (tmp_path / "web/a.txt").write_text("letters")

    def steps() -> Iterator[Turn]:
        yield from looked(2)
        yield step
        yield from looked(30)
        yield finish("Done.")

    model = long_run(steps())
    async with Conversation(
        an_agent("terminal", "grep", "file_editor"), tmp_path, store="memory://", client=model
    ) as conversation:
        await conversation.prompt("Look around")
        assert len([event async for event in conversation.events() if isinstance(event, Condensation)]) > 2
    asked = [request for request in model.requests if not is_question(request)]
    assert not any(RULE in shown(request) for request in asked[:3])
    assert [shown(request).count(RULE) for request in asked[3:]] == [1] * len(asked[3:])
    assert "Still in force, from before the summary: the skill web/AGENTS.md." in shown(asked[-1])


@pytest.mark.real
async def test_a_words_skill_and_the_plan_stay_and_what_has_no_room_comes_again(tmp_path: Path) -> None:
    skill = Skill(name="style", body=RULE, triggers=("report",))
    big = Skill(name="big", body="Big. " * 400, triggers=("giant",))

    def steps() -> Iterator[Turn]:
        yield from looked(2)
        yield call("task_tracker", command="plan", task_list=[{"title": "Write it", "status": "in_progress"}])
        yield from looked(30)
        yield say("So far.")
        yield from looked(20)
        yield finish("Done.")

    worker = an_agent("task_tracker", window=3000, context=AgentContext(skills=(skill, big)))
    model = long_run(steps())
    async with Conversation(worker, tmp_path, store="memory://", client=model) as conversation:
        await conversation.prompt("Look")
        await conversation.condense()
        await conversation.send_message("A giant report")
        await conversation.run()
        log = [event async for event in conversation.events()]
    asked = [request for request in model.requests if not is_question(request)]
    last = shown(asked[-1])
    assert "[~] Write it" in last
    assert RULE in last
    assert "Big. Big." not in last
    assert "left out for want of room, so ask for it or look at its file again: the skill big." in last
    assert [event.skill for event in log if isinstance(event, SkillActivated)] == ["style", "big"]


@pytest.mark.real
async def test_a_skill_whose_text_left_the_view_comes_again_by_its_word(tmp_path: Path) -> None:
    skill = Skill(name="style", body=RULE, triggers=("report",))

    def steps() -> Iterator[Turn]:
        for _ in range(3):
            yield from looked(16)
            yield say("So far.")

    condenser = LLMSummarizingCondenser(max_size=12, standing_share=0.0)
    worker = an_agent(condenser=condenser, context=AgentContext(skills=(skill,)))
    async with Conversation(worker, tmp_path, store="memory://", client=long_run(steps())) as conversation:
        for message in ("Look", "The report", "Again: the report"):
            await conversation.prompt(message)
        log = [event async for event in conversation.events()]
    assert len([event for event in log if isinstance(event, SkillActivated)]) == 2


SIZES = {"style": 30, "guide": 200, "tome": 3000}
SKILLS = tuple(Skill(name=name, body=f"Mark {name}. " + "x " * size, triggers=(name,)) for name, size in SIZES.items())
MOVES = (*SIZES, "plan", "look", "look", "condense", "rewind", "fork")


@pytest.mark.simulated
@given(st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 99)), min_size=3, max_size=16))
async def test_what_is_in_force_is_in_the_view_or_named_as_left_out(moves: list[tuple[str, int]]) -> None:
    steps: list[Turn] = []
    model = long_run(iter(steps.pop, None))
    condenser = LLMSummarizingCondenser(max_size=14, minimum_progress=0.0)
    worker = an_agent("task_tracker", window=6000, condenser=condenser, context=AgentContext(skills=SKILLS))
    async with AsyncExitStack() as stack:
        place = stack.enter_context(TemporaryDirectory())
        runtime = await stack.enter_async_context(Runtime("memory://", client=model))
        conversation = await stack.enter_async_context(Conversation(worker, place, runtime=runtime))

        async def turn(message: str, *made: Turn) -> None:
            steps[:] = [say("So far."), *reversed(made)]
            await conversation.prompt(message)

        await turn("Begin")
        for move, number in [*moves, ("look", 0)]:
            match move:
                case "plan":
                    await turn("Plan", call("task_tracker", command="plan", task_list=[{"title": f"Mark {number}."}]))
                case "look":
                    await turn("Look", *looked(number % 4 + 1))
                case "condense":
                    await conversation.condense()
                case "rewind":
                    places = [place.seq for place in conversation.state.checkpoints if place.branch.view]
                    await conversation.rewind(places[number % len(places)])
                case "fork":
                    conversation = await stack.enter_async_context(await conversation.fork())
                case _:
                    await turn(f"Now {move}")
        known = branch([event async for event in conversation.events()])
        last = shown(next(request for request in reversed(model.requests) if not is_question(request)))
        for event in known:
            if isinstance(event, SkillActivated):
                assert f"Mark {event.skill}." in last or f"the skill {event.skill}" in _left_out(last)
        plans = [plain(event.content) for event in known if _is_plan(event)]
        assert not plans or plans[-1] in last or "task_tracker" in _left_out(last)


def _is_plan(event: Event) -> TypeGuard[ObservationEvent]:
    return isinstance(event, ObservationEvent) and event.tool_name == "task_tracker"


def _left_out(said: str) -> str:
    """The names in the summary's head of what has no room."""
    return said.partition("left out for want of room")[2].partition("]")[0]


WINDOW = 32_000


@pytest.mark.real
async def test_a_nested_rule_decides_the_last_of_two_hundred_steps(tmp_path: Path) -> None:
    """The model follows what is in its view, and nothing else."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web/AGENTS.md").write_text(RULE)
    (tmp_path / "web/a.txt").write_text("letters")

    @tool
    async def survey(where: str) -> str:
        """Survey a place.

        Args:
            where: The place.
        """
        return f"{where}: " + "sand and stones, and more of them. " * 100

    taken = 0

    def script(request: ModelRequest) -> Turn:
        nonlocal taken
        if is_question(request):
            return say(SUMMARY)
        taken += 1
        if taken == 1:
            return call("terminal", command="cat web/a.txt")
        if taken < 200:
            return call("survey", where=f"place {taken}")
        if taken == 200:
            name = "REPORT" if re.search(re.escape(RULE), shown(request)) else "report"
            return call("terminal", command=f"touch web/{name}")
        return finish("Done.")

    condenser = LLMSummarizingCondenser()
    worker = an_agent(survey, "terminal", window=WINDOW, condenser=condenser, limits=Limits(max_steps=300))
    async with Conversation(worker, tmp_path, store="memory://", client=ScriptedLLM(script)) as conversation:
        await conversation.prompt("Survey, then write a report")
        condensed = [event async for event in conversation.events() if isinstance(event, Condensation)]
        assert sum(isinstance(e, ObservationEvent) for e in [e async for e in conversation.events()]) >= 200
    assert len(condensed) >= 5
    assert max(event.tokens_after for event in condensed) < 0.8 * WINDOW
    assert [path.name for path in (tmp_path / "web").iterdir() if path.name.lower() == "report"] == ["REPORT"]
