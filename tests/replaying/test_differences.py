"""A rule, a verdict or a limit that is another one than when it was recorded: the first event that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentrt import Limits, PermissionRule, StuckDetection
from agentrt.events import (
    ActionRevised,
    ChildFinished,
    ChildStarted,
    ConversationCreated,
    CriticAssessed,
    Event,
    HookExecutionEvent,
    MessageEvent,
    ModelCalled,
    ModelCallStarted,
    StuckDetected,
    UserRejectObservation,
)
from agentrt.replaying import Difference, replay
from agentrt.specs import Critic
from agentrt.specs.content import text

from .histories import HISTORIES
from .recorder import Recorded

pytestmark = pytest.mark.real


def place(made: Recorded, kind: type[Event], number: int = 0) -> int:
    """The index of an event."""
    return [n for n, event in enumerate(made.events) if isinstance(event, kind)][number]


def changed(made: Recorded, kind: type[Event], number: int = 0, **changes: Any) -> list[Event]:
    """The events, with another one in place of one."""
    at = place(made, kind, number)
    return [*made.events[:at], replace(made.events[at], **changes), *made.events[at + 1 :]]


def configured(made: Recorded, **changes: Any) -> list[Event]:
    """The events, of an agent that is otherwise configured."""
    created = made.events[0]
    assert isinstance(created, ConversationCreated)
    return [replace(created, agent=replace(created.agent, **changes)), *made.events[1:]]


async def first(events: list[Event], made: Recorded) -> Difference:
    """The first difference, which is no missing event."""
    difference = (await replay(events, made.tools, patience=0.5)).difference
    assert difference is not None
    return difference


def kinds(difference: Difference) -> tuple[str, str]:
    """The types of the two events, where they differ."""
    assert difference.where == "type"
    return difference.recorded.split()[0], difference.replayed.split()[0]


async def test_a_rule_that_is_gone(tmp_path: Path) -> None:
    made = await HISTORIES["a_rule_denies"](tmp_path)
    found = await first(configured(made, rules=(PermissionRule("ask", "greet", "B*", "name"),)), made)
    assert found.seq == made.of(UserRejectObservation)[0].seq
    assert kinds(found) == ("UserRejectObservation", "ConfirmationRequested")


async def test_a_rule_that_a_person_added_and_that_says_otherwise(tmp_path: Path) -> None:
    made = await HISTORIES["project_rules_are_there_from_the_beginning"](tmp_path)
    added = changed(made, type(made.events[2]), rule=PermissionRule("allow", "greet"))
    found = await first(added, made)
    assert kinds(found) == ("ConfirmationRequested", "ExecutionStarted")


async def test_a_hook_that_allows(tmp_path: Path) -> None:
    made = await HISTORIES["a_hook_denies_a_call"](tmp_path)
    found = await first(changed(made, HookExecutionEvent, verdict="allow"), made)
    assert found.seq == made.of(HookExecutionEvent)[0].seq + 1
    assert kinds(found)[0] == "UserRejectObservation"


async def test_a_hook_that_is_gone(tmp_path: Path) -> None:
    made = await HISTORIES["a_hook_denies_a_call"](tmp_path)
    found = await first(configured(made, hooks=()), made)
    assert found.seq == made.of(HookExecutionEvent)[0].seq
    assert kinds(found) == ("HookExecutionEvent", "ExecutionStarted")


async def test_a_hook_that_rewrites_otherwise(tmp_path: Path) -> None:
    """The replay gives what the recording says: what is sent to the model differs then, or what runs."""
    made = await HISTORIES["a_hook_rewrites_a_call"](tmp_path)
    events = changed(made, ActionRevised, resources=("file:/elsewhere",))
    found = await first(events, made)
    assert (found.seq, found.where) == (made.of(ActionRevised)[0].seq, "ActionRevised.resources[0]")


async def test_a_hook_that_lets_the_agent_finish(tmp_path: Path) -> None:
    made = await HISTORIES["a_hook_keeps_the_agent_from_finishing"](tmp_path)
    found = await first(changed(made, HookExecutionEvent, verdict="allow"), made)
    assert found.seq == made.of(HookExecutionEvent)[0].seq + 1


@pytest.mark.parametrize("change", ["score", "threshold"])
async def test_a_critic_that_is_content(tmp_path: Path, change: str) -> None:
    made = await HISTORIES["a_critic_sends_the_agent_back"](tmp_path)
    better = changed(made, CriticAssessed, score=0.75)
    events = better if change == "score" else configured(made, critic=Critic("marks", threshold=0.2, max_iterations=2))
    found = await first(events, made)
    assert (found.seq, found.where) == (made.of(CriticAssessed)[0].seq, "CriticAssessed.success")
    assert (found.recorded, found.replayed) == ("false", "true")


async def test_a_judge_that_is_content(tmp_path: Path) -> None:
    made = await HISTORIES["a_goal_is_reached"](tmp_path)
    found = await first(changed(made, CriticAssessed, success=True), made)
    assert found.seq == made.of(CriticAssessed)[0].seq + 1, "nobody sends the agent back"


@pytest.mark.parametrize("stuck", [None, StuckDetection(action_observation=9)])
async def test_another_patience_with_an_agent_that_is_stuck(tmp_path: Path, stuck: StuckDetection | None) -> None:
    made = await HISTORIES["the_agent_is_stuck"](tmp_path)
    found = await first(configured(made, stuck=stuck), made)
    assert found.seq == made.of(StuckDetected)[0].seq
    assert kinds(found) == ("StuckDetected", "ModelCallStarted")


async def test_what_the_rules_say_comes_from_the_rules(tmp_path: Path) -> None:
    made = await HISTORIES["the_agent_is_stuck"](tmp_path)
    nudge = place(made, StuckDetected) + 1
    number = made.of(MessageEvent).index(made.events[nudge])
    found = await first(changed(made, MessageEvent, number, content=text("You go in circles.")), made)
    assert (found.seq, found.where) == (nudge + 1, "MessageEvent.content[0].text")
    assert found.recorded == "You go in circles."


async def test_what_a_side_call_costs_counts(tmp_path: Path) -> None:
    made = await HISTORIES["a_title_and_a_question_besides"](tmp_path)
    found = await first(changed(made, ModelCalled, cost=1.0), made)
    assert found.seq == made.of(ModelCallStarted)[0].seq
    assert kinds(found) == ("ModelCallStarted", "ConversationErrorEvent")


async def test_what_is_granted_to_a_child_follows_from_the_limits(tmp_path: Path) -> None:
    made = await HISTORIES["children_ask_a_person"](tmp_path)
    found = await first(configured(made, limits=Limits(tool_concurrency=2, max_cost=7.0)), made)
    assert (found.seq, found.where) == (made.of(ChildStarted)[0].seq, "ChildStarted.grant.cost")


async def test_what_children_spent_counts(tmp_path: Path) -> None:
    made = await HISTORIES["children_ask_a_person"](tmp_path)
    costly = changed(made, ChildFinished, cost=9.0, spending={})
    found = await first(costly, made)
    assert found.seq > made.of(ChildFinished)[0].seq
    assert kinds(found) == ("ModelCallStarted", "ConversationErrorEvent")
