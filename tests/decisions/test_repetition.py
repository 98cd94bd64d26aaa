"""When an agent goes round in circles: each pattern at its threshold, and what does not count."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from agentrt.chain import Chain
from agentrt.decisions import CallModel, Warn, beginning, decide
from agentrt.decisions.repetition import repetition
from agentrt.events import Condensation, Event, ExecutionStatus, MessageEvent, RunRequested, UserRejectObservation
from agentrt.specs import StuckDetection
from agentrt.specs.content import text
from agentrt.state import Seen, State, summarized
from tests import samples
from tests.decisions.states import CALL, CALLED, after, call, then

pytestmark = pytest.mark.pure

LIMITS = StuckDetection()
NOTE = MessageEvent(content=text("A hook says hello."))


def view(events: Iterable[Event]) -> Chain[Seen]:
    return Chain(samples.seen(samples.numbered([samples.message(), *events])))


def pair(n: int, command: str = "ls", said: str = "ok", fingerprint: int = 7) -> tuple[Event, Event]:
    action = call(id=f"a{n}", command=command)
    return action, replace(samples.observation(action, said), fingerprint=fingerprint)


def same(times: int) -> list[Event]:
    return [event for n in range(times) for event in pair(n)]


def failing(times: int) -> list[Event]:
    return [event for n in range(times) for event in (call(id=f"a{n}"), samples.failure(call(id=f"a{n}")))]


def talking(times: int) -> list[Event]:
    return [samples.answer() for _ in range(times)]


def turns(times: int) -> list[Event]:
    return [event for n in range(times) for event in pair(n, f"command {n % 2}", fingerprint=1 + n % 2)]


@pytest.mark.parametrize(
    ("pattern", "make", "limit"),
    [
        ("action_observation", same, 4),
        ("action_error", failing, 4),
        ("monologue", talking, 3),
        ("alternating", turns, 6),
    ],
)
def test_each_pattern_is_told_one_before_its_threshold_and_stopped_at_it(
    pattern: str, make: object, limit: int
) -> None:
    for times in range(limit + 3):
        found = repetition(view(make(times)), LIMITS)  # type: ignore[operator]
        if times < limit - 1:
            assert found is None
        else:
            assert found is not None
            assert (found.pattern, found.times, found.limit) == (pattern, times, limit)
    off = replace(LIMITS, **{pattern: 0})
    assert repetition(view(make(limit + 3)), off) is None  # type: ignore[operator]


def test_what_is_different_is_no_repetition() -> None:
    other_result = [*same(3), *pair(9, fingerprint=8)]
    other_action = [*same(3), *pair(9, "cat x")]
    other_error = [*failing(3), call(id="z"), replace(samples.failure(call(id="z")), error="another")]
    error_then_result = [*failing(3), *pair(9, fingerprint=8)]
    for events in (other_result, other_action, other_error, error_then_result):
        assert repetition(view(events), LIMITS) is None


def test_waiting_for_what_still_runs_counts_for_nothing() -> None:
    polling = [event for n in range(20) for event in pair(n, "", fingerprint=0)]
    assert repetition(view(polling), LIMITS) is None
    assert repetition(view([*same(2), *polling, *same(2)]), LIMITS) is None, "and ends a row"


def test_a_message_of_the_user_begins_a_new_count_and_one_of_the_environment_does_not() -> None:
    assert repetition(view([*same(3), samples.message("try again"), *same(3)[:4]]), LIMITS) is None
    assert repetition(view([*same(2), NOTE, *pair(8), NOTE, *pair(9)]), LIMITS) is not None


def test_batches_and_results_out_of_order_count_by_action() -> None:
    actions = [call(id=f"a{n}", command="ls") for n in range(4)]
    results = [replace(samples.observation(action), fingerprint=7) for action in actions]
    found = repetition(view([*actions, *reversed(results)]), LIMITS)
    assert found is not None
    assert found.times == 4
    assert repetition(view([*actions, *results[:3]]), LIMITS) is None, "one has no result yet"


def test_what_a_rule_refuses_again_and_again_counts_as_a_failure_and_what_a_person_refuses_does_not() -> None:
    def refused(source: str) -> list[Event]:
        return [
            event
            for n in range(4)
            for event in (
                call(id=f"a{n}", command="rm x"),
                UserRejectObservation(
                    source=source,  # type: ignore[arg-type]
                    action_id=f"a{n}",
                    tool_name="terminal",
                    tool_call_id="call_1",
                    rejection_reason="no",
                ),
            )
        ]

    found = repetition(view(refused("environment")), LIMITS)
    assert found is not None
    assert (found.pattern, found.times) == ("action_error", 4)
    assert repetition(view(refused("user")), LIMITS) is None


def test_the_summary_of_what_was_forgotten_does_not_end_a_monologue() -> None:
    summary = summarized(Condensation(forgotten_event_ids=(), summary="It talked."))
    assert repetition(view([*talking(2), summary, *talking(1)]), LIMITS) is not None
    assert repetition(view([*talking(2), NOTE, *talking(1)]), LIMITS) is None


def test_a_high_threshold_is_reached_as_well() -> None:
    limits = replace(LIMITS, action_observation=50)
    assert repetition(view(same(48)), limits) is None
    found = repetition(view(same(50)), limits)
    assert found is not None
    assert found.times == 50


# What follows


def stuck_at(events: list[Event], limits: StuckDetection = LIMITS) -> State:
    return after(CALL, CALLED, *events, spec=replace(samples.agent(), stuck=limits))


def called(state: State) -> State:
    """After the model call that is due."""
    (due,) = decide(state)
    assert isinstance(due, CallModel)
    return then(state, *beginning(due), replace(CALLED, command=due.id))


def noted(state: State) -> State:
    (due,) = decide(state)
    return then(state, *beginning(due))


def test_the_agent_is_told_once_a_streak_and_stopped_at_the_next_repetition() -> None:
    state = stuck_at(same(3))
    (due,) = decide(state)
    assert isinstance(due, Warn)
    assert not due.stop
    state = noted(state)
    assert state.branch.nudged
    assert isinstance(decide(state)[0], CallModel)
    again = then(called(state), *pair(9))
    (due,) = decide(again)
    assert isinstance(due, Warn)
    assert due.stop
    assert noted(again).status is ExecutionStatus.STUCK


def test_a_nudge_is_not_repeated_for_the_same_streak() -> None:
    state = called(noted(stuck_at(same(3))))
    assert isinstance(decide(state)[0], CallModel), "it was told, and repeated nothing since"
    fresh = then(state, *pair(20, "cat x"), *[event for n in range(21, 24) for event in pair(n)])
    (due,) = decide(fresh)
    assert isinstance(due, Warn)
    assert not due.stop, "another streak, another word"


def test_without_a_nudge_it_is_stopped_and_nothing_is_said_before() -> None:
    limits = replace(LIMITS, nudge=False)
    assert isinstance(decide(stuck_at(same(3), limits))[0], CallModel)
    (due,) = decide(stuck_at(same(4), limits))
    assert isinstance(due, Warn)
    assert due.stop


def told_and_stuck() -> State:
    """An agent that was told, went on in the same way, and was stopped."""
    return noted(then(called(noted(stuck_at(same(3)))), *pair(9)))


def test_who_repeats_himself_in_one_batch_is_told_before_he_is_stopped() -> None:
    (due,) = decide(stuck_at(same(4)))
    assert isinstance(due, Warn)
    assert not due.stop


def test_a_message_makes_an_agent_that_was_stuck_go_on() -> None:
    state = told_and_stuck()
    assert state.status is ExecutionStatus.STUCK
    state = then(state, samples.message("another way"))
    assert state.status is ExecutionStatus.IDLE
    (due,) = decide(then(state, RunRequested()))
    assert isinstance(due, CallModel)


def test_who_runs_an_agent_that_was_stuck_lets_it_go_on_from_there() -> None:
    state = then(told_and_stuck(), RunRequested())
    assert state.status is ExecutionStatus.RUNNING
    assert state.branch.rearmed
    again = noted(state)
    assert again.status is ExecutionStatus.RUNNING, "what it did before counts no more"


COMPLAINT = MessageEvent(content=text("Your reply was empty."), complaint=True)


@pytest.mark.parametrize(
    ("said", "times"),
    [
        ([COMPLAINT] * 2, 2),
        ([COMPLAINT] * 3, 3),
        ([samples.answer("so far"), COMPLAINT] * 2, 2),
        ([samples.answer("so far"), COMPLAINT, COMPLAINT, samples.answer("more")], 3),
        ([COMPLAINT], 0),
        ([COMPLAINT, NOTE, COMPLAINT], 0),
        ([*same(1), COMPLAINT], 0),
    ],
)
def test_replies_that_were_none_are_a_monologue_too(said: list[Event], times: int) -> None:
    found = repetition(view([samples.message(), *(replace(event, id=f"m{n}") for n, event in enumerate(said))]), LIMITS)
    assert (found.times if found else 0) == times
    assert found is None or found.pattern == "monologue"


def test_nobody_looks_where_it_is_off() -> None:
    assert isinstance(decide(after(*same(9), spec=replace(samples.agent(), stuck=None)))[0], CallModel)
