"""A person's word: for which actions, in which conversation, and for how long."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from agentrt.decisions import ExecuteAction, RequestConfirmation, approval, decide, rejection, waiting, waiting_in
from agentrt.events import (
    ChildAction,
    ChildAnswered,
    ChildFinished,
    ChildStarted,
    ConfirmationGiven,
    Event,
    ExecutionStatus,
    PauseEvent,
    RuleAdded,
    UserRejectObservation,
)
from agentrt.specs import Limits, PermissionRule, SecurityRisk
from agentrt.state import State
from tests import samples
from tests.decisions.states import RISKY, after, asked, call, calls, child_waits, rated, started, then

pytestmark = pytest.mark.pure

ONE, TWO, LOW = call(id="a", command="rm x"), call(id="b", command="rm y"), call("look", "c", n=1)
LOOKED = rated("c", SecurityRisk.LOW)


def held() -> State:
    """Two actions wait for a person, and one for these."""
    return after(*calls(ONE, TWO, LOW), rated("a"), rated("b"), LOOKED, asked("a", "b"), spec=RISKY)


def above() -> State:
    """A delegation runs whose conversation waits for a person on two actions."""
    task = replace(samples.action("delegate", id="d"), arguments_json=msgspec.Raw(b"{}"))
    begun = ChildStarted(child_id="d-child", task="look", action_id="d")
    spec = replace(samples.agent(), limits=Limits(tool_concurrency=2))
    return after(*calls(task), started(task), begun, child_waits("d-child", "x", "y"), spec=spec)


def test_what_waits_is_what_was_asked_about() -> None:
    state = held()
    assert [p.action.id for p in waiting(state)] == ["a", "b"]
    assert [(action.action_id, action.reason) for action in waiting_in(state)] == [("a", "risk"), ("b", "risk")]
    assert waiting(then(state, PauseEvent())) == ()
    assert [p.action.id for p in waiting(above())] == ["x", "y"]
    assert waiting_in(above()) == (
        ChildAction("x", "terminal", "{}", SecurityRisk.HIGH, "risk"),
        ChildAction("y", "terminal", "{}", SecurityRisk.HIGH, "risk"),
    )


def test_all_are_approved_or_those_that_are_named() -> None:
    (all_of_them,) = approval(held())
    assert isinstance(all_of_them, ConfirmationGiven)
    assert all_of_them.action_ids == ("a", "b")
    (one,) = approval(held(), ["b", "c", "nobody"])
    assert isinstance(one, ConfirmationGiven)
    assert one.action_ids == ("b",)
    assert approval(held(), ["nobody"]) == ()
    assert approval(after()) == ()


def test_one_that_is_approved_runs_when_the_others_are_decided() -> None:
    state = then(held(), *approval(held(), ["a"]))
    (due,) = decide(state)
    assert isinstance(due, RequestConfirmation)
    assert [action_id for action_id, _ in due.reasons] == ["b"]
    state = then(state, asked("b"), *rejection(state := then(state, asked("b")), "no", ["b"]))
    assert [due.action.id for due in decide(state) if isinstance(due, ExecuteAction)] == ["a", "c"]


def test_a_rejection_is_a_result_with_its_reason() -> None:
    one, two = rejection(held(), "not that")
    assert isinstance(one, UserRejectObservation)
    assert (one.action_id, one.rejection_reason, one.source) == ("a", "not that", "user")
    state = then(held(), one, two)
    (due,) = decide(state)
    assert isinstance(due, ExecuteAction)
    assert due.action.id == "c"


def test_always_adds_a_rule_for_each_action_once_or_the_one_that_is_given() -> None:
    given, *rules = approval(held(), always="session")
    assert isinstance(given, ConfirmationGiven)
    assert [event.rule.pattern for event in rules if isinstance(event, RuleAdded)] == ["rm x", "rm y"]
    own = PermissionRule("allow", "terminal", "rm ?", "command")
    _, added = approval(held(), always="project", rule=own)
    assert isinstance(added, RuleAdded)
    assert (added.rule, added.scope) == (own, "project")
    state = then(held(), given, *rules)
    assert state.status is ExecutionStatus.RUNNING
    assert [p.approved for p in state.branch.pending] == [True, True, False]
    assert isinstance(decide(state)[0], ExecuteAction)


def test_a_word_for_a_conversation_below_goes_down_by_an_event() -> None:
    state = above()
    assert state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    yes = approval(state, ["x"])
    (answer,) = yes
    assert isinstance(answer, ChildAnswered)
    assert (answer.child_id, answer.action_id, answer.approved) == ("d-child", "x", True)
    (no,) = rejection(state, "not that", ["y"])
    assert isinstance(no, ChildAnswered)
    assert (no.approved, no.reason) == (False, "not that")
    state = then(state, *yes)
    assert [p.action.id for p in waiting(state)] == ["y"]


def test_the_first_of_two_answers_counts() -> None:
    def said(approved: bool, action_id: str = "x") -> Event:
        return ChildAnswered(child_id="d-child", action_id=action_id, approved=approved)

    state = then(above(), said(False), said(True), said(True, "unknown"))
    assert [(answer.action_id, answer.approved) for answer in state.ledger.children["d-child"].answers] == [
        ("x", False)
    ]
    ended = then(state, ChildFinished(child_id="d-child", status=ExecutionStatus.FINISHED), said(True, "y"))
    assert ended.ledger.children["d-child"].answers == ()
