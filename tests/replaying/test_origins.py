"""Where events come from: each type has an origin, and those that have several tell which."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.events import (
    ActionRevised,
    BudgetReserved,
    ConversationErrorEvent,
    CriticAssessed,
    Event,
    HookExecutionEvent,
    MessageEvent,
    ModelCalled,
    StuckDetected,
    UnknownEvent,
    UserRejectObservation,
)
from agentrt.replaying.origins import ORIGINS, OUTSIDE, PERFORMER, RULES, Origin, Origins
from agentrt.specs import HookEvent
from tests import samples

from .histories import HISTORIES

pytestmark = pytest.mark.real


@pytest.mark.pure
def test_every_type_has_an_origin() -> None:
    assert set(ORIGINS) == samples.all_types() | {UnknownEvent}
    events = samples.numbered(samples.every_event())
    origins = Origins(events)
    assert {origins.of(event) for event in events} == set(Origin)


async def in_history(tmp_path: Path, name: str, kind: type[Event]) -> list[Origin]:
    """The origins of the events of a type."""
    made = await HISTORIES[name](tmp_path)
    origins = Origins(made.events)
    return [origins.of(event) for event in made.of(kind)]


async def test_who_refuses(tmp_path: Path) -> None:
    for number, (name, expected) in enumerate(
        [
            ("a_hook_denies_a_call", [PERFORMER]),
            ("a_rule_denies", [RULES]),
            ("rules_are_remembered", [OUTSIDE, RULES]),
        ]
    ):
        place = tmp_path / str(number)
        place.mkdir()
        assert await in_history(place, name, UserRejectObservation) == expected


async def test_who_speaks(tmp_path: Path) -> None:
    made = await HISTORIES["a_goal_is_reached"](tmp_path)
    origins = Origins(made.events)
    user, *told = made.of(MessageEvent)
    assert origins.of(user) is OUTSIDE
    assert {origins.of(message) for message in told} == {PERFORMER}
    found, nudge = StuckDetected(seq=1, pattern="monologue", nudge=True), samples.message()
    assert Origins([found]).of(MessageEvent(content=nudge.content, caused_by=found.id)) is RULES
    assessed = CriticAssessed(critic="goal", score=0.0, success=False)
    assert Origins([assessed]).of(MessageEvent(content=nudge.content, caused_by=assessed.id)) is PERFORMER
    assert Origins([assessed]).of(MessageEvent(content=nudge.content, caused_by="unknown")) is OUTSIDE


async def test_who_asks_a_model(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    goal = await in_history(tmp_path / "1", "a_judge_is_paid_from_the_budget", BudgetReserved)
    assert set(goal) == {PERFORMER}
    besides = await in_history(tmp_path / "2", "a_title_and_a_question_besides", ModelCalled)
    assert besides == [OUTSIDE, PERFORMER, PERFORMER, OUTSIDE]


@pytest.mark.pure
def test_who_ends_a_run_and_who_rewrites() -> None:
    limit = ConversationErrorEvent(code="max_steps", detail="")
    failed = ConversationErrorEvent(code="timeout", detail="")
    hooked = HookExecutionEvent(hook_event=HookEvent.BEFORE_TOOL)
    origins = Origins([hooked])
    assert [origins.of(limit), origins.of(failed)] == [RULES, PERFORMER]
    revised = ActionRevised(action_id="a", arguments_json=samples.action().arguments_json, caused_by=hooked.id)
    assert origins.of(revised) is PERFORMER
    assert Origins([]).of(revised) is OUTSIDE
    assert origins.of(HookExecutionEvent(hook_event=HookEvent.END)) is OUTSIDE
