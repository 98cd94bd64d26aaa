"""What a delegation comes to: its result, and what counts as used."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from agentrt.decisions import Delegate, cut_short, ended, failed, left
from agentrt.events import (
    AgentErrorEvent,
    BudgetReserved,
    ChildFinished,
    ChildStarted,
    ChildWaiting,
    ConversationErrorEvent,
    Event,
    ExecutionLost,
    ExecutionStarted,
    ExecutionStatus,
    Grant,
    ModelCalled,
    ModelCallStarted,
    ObservationEvent,
    RunRequested,
    StuckDetected,
)
from agentrt.specs.content import plain
from agentrt.state import State, fold
from agentrt.usage import Usage

from . import samples
from .decisions.states import after

pytestmark = pytest.mark.pure

ACTION = replace(samples.action("delegate", "r"), id="d", arguments_json=msgspec.Raw(b'{"task":"Dig."}'))
COMMAND = Delegate("execute-d-1", ACTION, 1, "d-child", Grant(cost=2.0, tokens=900, steps=5))
CALLED = (
    ModelCallStarted(command="call-1"),
    ModelCalled(command="call-1", model="m", usage=Usage(30, 2), cost=0.5, usage_id="main"),
)


def below(*more: Event) -> State:
    """The conversation below, at work after one call."""
    return after(*CALLED, *more)


def above() -> State:
    """The conversation above."""
    started = ChildStarted(child_id="d-child", task="Dig.", action_id="d", grant=COMMAND.grant)
    return fold(samples.numbered([*samples.beginning(), samples.message(), RunRequested(), *CALLED, ACTION, started]))


def parts(events: tuple[Event, ...]) -> tuple[ChildFinished, ObservationEvent, str]:
    finished, observation = events
    assert isinstance(finished, ChildFinished)
    assert isinstance(observation, ObservationEvent)
    return finished, observation, plain(observation.content)


def test_what_it_said_last_is_the_result() -> None:
    finished, observation, said = parts(ended(COMMAND, below(samples.answer()), "It is deep."))
    assert said == "It is deep.\n[conversation d-child]"
    assert not observation.is_error
    assert (finished.status, finished.cost, finished.steps) == (ExecutionStatus.FINISHED, 0.5, 1)
    assert finished.spending["main"].usage == Usage(30, 2)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (
            ConversationErrorEvent(code="max_cost", detail="Nothing is left."),
            "It failed: Nothing is left.\nIt said last: Hm",
        ),
        (StuckDetected(pattern="same"), "It was stopped because it repeated itself. It said last: Hm"),
    ],
)
def test_how_it_failed_is_the_result(last: Event, words: str) -> None:
    finished, observation, said = parts(ended(COMMAND, below(last), "Hm"))
    assert said.startswith(words)
    assert observation.is_error
    assert finished.status is not ExecutionStatus.FINISHED


def test_what_is_still_open_below_counts_as_used() -> None:
    granted = Grant(cost=0.25, tokens=100, steps=3)
    child = ChildStarted(child_id="e", task="Deeper.", action_id="x", grant=granted)
    reserved = BudgetReserved(command="call-2", tokens=40, cost=0.125, usage_id="main")
    finished, _, said = parts(failed(above(), COMMAND, below(reserved, child), "Hm", "the log is full"))
    assert said.startswith("It failed: the log is full\nIt said last: Hm")
    assert (finished.cost, finished.steps) == (0.875, 4)
    assert finished.spending["main"].usage.total == 72
    assert finished.spending["child"].usage.total == 100


def test_one_that_never_began_used_nothing() -> None:
    for events in (cut_short(above(), COMMAND, None, ""), failed(above(), COMMAND, None, "", "no such agent")):
        finished, error = events
        assert isinstance(finished, ChildFinished)
        assert isinstance(error, AgentErrorEvent)
        assert (finished.cost, finished.steps, finished.spending) == (0.0, 0, {})


def test_one_that_is_cut_before_it_is_open_again_has_used_what_it_had() -> None:
    begun = ExecutionStarted(command=COMMAND.id, action_id="d", attempt=1)
    started = (begun, ChildStarted(child_id="d-child", task="Dig.", action_id="d", grant=COMMAND.grant))
    events = [begun, *left(above(), COMMAND, below()), *started, *left(above(), COMMAND, None), *started]
    again = fold(samples.numbered(events, above().seq + 1), start=above())
    finished, error = cut_short(again, COMMAND, None, "")
    assert isinstance(finished, ChildFinished)
    assert isinstance(error, AgentErrorEvent)
    assert (finished.cost, finished.steps) == (0.5, 1)
    crashed = ExecutionLost(action_id="d")
    after = fold(samples.numbered([crashed, *started], again.seq + 1), start=again)
    given_up = cut_short(after, COMMAND, None, "")
    assert not any(isinstance(event, ChildFinished) for event in given_up), "nobody knows: its whole grant"


def test_one_that_is_left_tells_what_it_has_used() -> None:
    so_far, lost = left(above(), COMMAND, below())
    assert isinstance(so_far, ChildWaiting)
    assert isinstance(lost, ExecutionLost)
    state = fold(samples.numbered([so_far, lost, samples.failure(ACTION)], above().seq + 1), start=above())
    assert state.ledger.cost == 1.0
    assert not state.ledger.children["d-child"].open
    (only,) = left(above(), COMMAND, None)
    assert isinstance(only, ExecutionLost)
