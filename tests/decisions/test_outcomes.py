"""Which batches the log takes, what a message does, and what closes what was cut, lost or left open."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentrt.decisions import CallModel, check, decide, expiry, forked, interruption, lost, recovery, refusal, said
from agentrt.errors import ConversationBusy, EventRefused
from agentrt.events import (
    AgentErrorEvent,
    BudgetReserved,
    ConversationCreated,
    ConversationErrorEvent,
    Event,
    ExecutionLost,
    ExecutionStatus,
    GoalSet,
    HeadMoved,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    PauseEvent,
    RuleAdded,
    RunEnded,
    RunRequested,
)
from agentrt.specs import BusyPolicy, Limits, PermissionRule
from agentrt.state import State, fold
from agentrt.usage import Usage
from tests import samples
from tests.decisions.states import CALL, CALLED, RISKY, after, asked, calls, finished, rated, started, then

pytestmark = pytest.mark.pure

ENQUEUE, STEER, INTERRUPT, REJECT = BusyPolicy.ENQUEUE, BusyPolicy.STEER, BusyPolicy.INTERRUPT, BusyPolicy.REJECT
ONE, TWO = samples.action(id="a"), samples.action("look", id="b")
STATES = {
    "calling the model": after(CALL),
    "a tool runs, another waits": after(*calls(ONE, TWO), started(ONE)),
    "waiting for confirmation": after(*calls(ONE), rated("a"), asked("a"), spec=RISKY),
    "paused": after(*calls(ONE), started(ONE), PauseEvent()),
    "finished": after(*finished()),
    "error": after(ConversationErrorEvent(code="timeout", detail="")),
}
CUT = InterruptEvent
CASES: dict[str, dict[BusyPolicy, list[type[Event]] | None]] = {
    "calling the model": {
        ENQUEUE: [MessageEvent],
        STEER: [CUT, MessageEvent],
        INTERRUPT: [CUT, MessageEvent],
        REJECT: None,
    },
    "a tool runs, another waits": {
        ENQUEUE: [MessageEvent],
        STEER: [MessageEvent],
        INTERRUPT: [CUT, AgentErrorEvent, MessageEvent],
        REJECT: None,
    },
    "waiting for confirmation": {
        ENQUEUE: [MessageEvent],
        STEER: [MessageEvent],
        INTERRUPT: [CUT, AgentErrorEvent, MessageEvent],
        REJECT: None,
    },
    **{rest: {policy: [MessageEvent] for policy in BusyPolicy} for rest in ("paused", "finished", "error")},
}


@pytest.mark.parametrize("policy", BusyPolicy)
@pytest.mark.parametrize("name", CASES)
def test_what_a_message_does_by_policy_and_state(name: str, policy: BusyPolicy) -> None:
    state, expected = STATES[name], CASES[name][policy]
    own = replace(state, agent=replace(state.spec, busy=policy))
    if expected is None:
        with pytest.raises(ConversationBusy):
            said(state, samples.message(), policy)
        with pytest.raises(ConversationBusy):
            said(own, samples.message())
        return
    assert [type(event) for event in said(state, samples.message(), policy)] == expected
    assert [type(event) for event in said(own, samples.message())] == expected
    status = then(state, *said(state, samples.message(), policy)).status
    if name in ("finished", "error"):
        assert status is ExecutionStatus.IDLE
    elif CUT in expected:
        assert status is ExecutionStatus.RUNNING
    else:
        assert status is state.status


def test_a_message_that_was_received_is_not_refused() -> None:
    state = after(CALL, samples.message(id="m"))
    assert [type(event) for event in said(state, samples.message(id="m"), REJECT)] == [MessageEvent]


def test_a_steered_call_is_made_again_with_the_message() -> None:
    state = then(after(CALL), *said(after(CALL), samples.message("look left"), STEER))
    assert decide(state) == ()
    state = then(state, samples.answer("I w", partial=True), replace(CALLED, error="interrupted"))
    (due,) = decide(state)
    assert isinstance(due, CallModel)
    assert state.branch.queued


# What comes too late


def test_what_runs_may_end_after_a_pause_and_not_begin_after_an_interrupt() -> None:
    act = samples.action(id="a")
    rating = after(*calls(act), spec=RISKY)
    assert refusal(rating, [rated("a")], "assess-a-0-rules") is None
    assert refusal(then(rating, PauseEvent()), [rated("a")], "assess-a-0-rules") is None
    assert refusal(then(rating, *interruption(rating, "")), [rated("a")], "assess-a-0-rules") == "assess-a-0-rules"


def test_nobody_rewinds_to_before_the_instructions() -> None:
    state = after(*finished())
    with pytest.raises(EventRefused, match="there are 2 to"):
        check(state, [HeadMoved(to=1)])
    check(state, [HeadMoved(to=2)])


def test_a_message_of_a_batch_may_follow_its_prompt_only() -> None:
    with pytest.raises(EventRefused, match="was never asked for"):
        check(after(), [samples.observation(ONE)])
    check(after(), [ONE, samples.observation(ONE)])


# Crashes, limits of time, forks


def reserved(command: str) -> BudgetReserved:
    return BudgetReserved(command=command, tokens=50, cost=0.5)


def test_a_crash_closes_every_call_with_what_it_had_reserved() -> None:
    spec = samples.agent(limits=Limits(max_cost=2.0))
    state = after(CALL, reserved("call-1"), reserved("ask-agent-1"), spec=spec)
    one, aside, paused = recovery(state)
    assert isinstance(one, ModelCalled)
    assert isinstance(aside, ModelCalled)
    assert {one.command, aside.command} == {"call-1", "ask-agent-1"}
    assert (aside.cost, aside.usage.total, aside.estimated, aside.error) == (0.5, 50, True, "crashed")
    assert isinstance(paused, PauseEvent)
    closed = then(state, *recovery(state))
    assert (closed.ledger.reserved, closed.ledger.cost, closed.in_flight) == ({}, 1.0, ())


def test_a_call_aside_is_closed_where_nothing_else_ran() -> None:
    state = after(*finished(), reserved("title-1"))
    (aside,) = recovery(state)
    assert isinstance(aside, ModelCalled)
    assert then(state, aside).status is ExecutionStatus.FINISHED


def test_an_end_that_a_crash_cut_off_is_said_by_the_next_process() -> None:
    said = (CALL, ModelCalled(command="call-1", model="m"), samples.answer())
    state = fold(samples.numbered([*samples.beginning(), samples.message(), RunRequested(), *said]))
    assert state.status is ExecutionStatus.RUNNING, "the log ends here"
    (ended,) = recovery(state)
    assert isinstance(ended, RunEnded)
    assert then(state, ended).status is ended.status is ExecutionStatus.FINISHED
    judged = fold(samples.numbered([GoalSet(objective="all tests pass")], state.seq + 1), start=state)
    assert [type(event) for event in recovery(judged)] == [PauseEvent], "its goal has a say first"


def test_what_was_interrupted_is_not_run_again_after_a_crash() -> None:
    state = after(*calls(TWO), started(TWO), InterruptEvent())
    (error, *_) = recovery(state)
    assert isinstance(error, AgentErrorEvent)
    assert "Interrupted" in error.error
    assert isinstance(recovery(after(*calls(TWO), started(TWO)))[0], ExecutionLost)


def test_a_confirmation_that_waits_survives_a_crash() -> None:
    state = STATES["waiting for confirmation"]
    assert recovery(state) == (), "nothing ran"
    assert state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION


def test_the_outcome_of_a_lost_call_counts_what_was_reserved() -> None:
    state = after(CALL, reserved("call-1"))
    (called,) = lost(state, "call-1", "gone")
    assert isinstance(called, ModelCalled)
    assert (called.cost, called.usage) == (0.5, Usage(prompt_tokens=50))


def test_a_run_that_took_all_its_time_ends_and_can_go_on() -> None:
    state = after(*calls(ONE, TWO), started(ONE))
    cut, closed, error = expiry(state, 5)
    assert isinstance(cut, InterruptEvent)
    assert isinstance(closed, AgentErrorEvent)
    assert isinstance(error, ConversationErrorEvent)
    assert (closed.action_id, error.code) == ("b", "max_seconds")
    ended = then(state, cut, closed, error)
    assert (ended.status, ended.in_flight) == (ExecutionStatus.ERROR, (started(ONE).command,))
    again = then(ended, RunRequested())
    assert decide(again) == (), "what was cut has not ended yet"
    (due,) = decide(then(again, samples.failure(ONE)))
    assert isinstance(due, CallModel)
    assert expiry(then(state, PauseEvent()), 5) == ()


def test_a_fork_closes_what_is_open_and_keeps_what_a_person_decided() -> None:
    rule = RuleAdded(rule=PermissionRule("deny", "terminal", "rm *"))
    state = after(rule, *calls(ONE), reserved("ask-agent-1"))
    created = ConversationCreated(conversation_id="d", agent=state.spec, workspace=samples.WORKSPACE, parent="c")
    fork: State = then(state, *forked(state, created))
    assert (fork.branch.pending, fork.in_flight, fork.status) == ((), (), ExecutionStatus.IDLE)
    assert fork.ledger.rules == (rule.rule,)
    assert (fork.ledger.reserved, fork.ledger.cost) == ({}, 0.0)
    assert isinstance(decide(then(fork, RunRequested()))[0], CallModel)
