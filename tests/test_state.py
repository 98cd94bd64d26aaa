"""The fold: laws, and what each event does."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.events import (
    ActionRevised,
    AgentErrorEvent,
    BudgetGranted,
    Condensation,
    CondensationSummaryEvent,
    ConfirmationGiven,
    ConfirmationRequested,
    ConversationStateUpdateEvent,
    Event,
    ExecutionStarted,
    ExecutionStatus,
    HeadMoved,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ModelCallStarted,
    PauseEvent,
    RiskAssessed,
    RunRequested,
)
from agentrt.specs import AlwaysConfirm, SecurityRisk
from agentrt.state import State, branch, fold
from agentrt.usage import Usage
from tests import samples
from tests.decisions.states import after, then
from tests.histories import histories

pytestmark = pytest.mark.pure


@given(histories(), st.data())
def test_folding_in_two_parts_gives_the_same_state(events: list[Event], data: st.DataObject) -> None:
    """The fold law: a prefix's state is all that the rest needs."""
    cut = data.draw(st.integers(0, len(events)))
    prefix = fold(events[:cut])
    assert fold(events[cut:], start=prefix) == fold(events)
    assert prefix == fold(events[:cut]), "folding on must not change the prefix's state"


@given(histories())
def test_a_rewind_goes_back_to_how_the_branch_was(events: list[Event]) -> None:
    state = fold(events)
    for checkpoint in state.checkpoints:
        moved = replace(HeadMoved(to=checkpoint.seq), seq=state.seq + 1)
        after = fold([moved], start=state)
        assert after.branch == checkpoint.branch
        assert after.ledger.total.cost >= state.ledger.total.cost, "what was spent stays spent"
        assert after.ledger.message_ids == state.ledger.message_ids
        assert not any(child.open for child in after.ledger.children.values()), "nobody sees it through any more"
        assert after.status is ExecutionStatus.IDLE


def test_the_samples_fold_whatever_their_order() -> None:
    events = samples.numbered(samples.every_event())
    assert fold(events).seq == len(events)
    assert fold(events) == fold(events[7:], start=fold(events[:7]))


def test_the_branch_leaves_out_what_a_rewind_left_behind() -> None:
    events = samples.numbered(
        [*samples.beginning(), samples.message("one"), samples.answer("1"), HeadMoved(to=3), samples.message("two")]
    )
    assert [event.seq for event in branch(events)] == [1, 2, 3, 5, 6]


def test_a_rewind_to_a_branch_that_was_left_leads_back_to_it() -> None:
    events = samples.numbered(
        [
            *samples.beginning(),
            samples.message("first"),
            *(words := (RunRequested(), CALL, CALLED, samples.answer())),
            samples.message("left"),
            *words,
            HeadMoved(to=7),
            samples.message("right"),
            *words,
            HeadMoved(to=12),
            samples.message("again"),
        ]
    )
    seen = [event.content[0].text for event in branch(events) if isinstance(event, MessageEvent)]  # type: ignore[union-attr]
    assert [word for word in seen if word != "done"] == ["first", "left", "again"]
    here = fold(events).branch
    assert [seen.seq for seen in (*here.view, *here.queued) if seen.user] == [3, 8, 20]


@given(histories(), st.data())
def test_a_rewind_leads_to_where_a_fork_begins(events: list[Event], data: st.DataObject) -> None:
    """Over any tree of rewinds: the view after `rewind(p)` is that of `fork(at=p)`, where nothing is open at p."""
    for _ in range(3):
        state = fold(events)
        rests = [checkpoint.seq for checkpoint in state.checkpoints if checkpoint.seq > 2]
        if not rests:
            return
        to = data.draw(st.sampled_from(rests))
        there = fold(events[:to])
        events = [*events, replace(HeadMoved(to=to), seq=state.seq + 1)]
        after = fold(events)
        assert after.branch == there.branch
        assert {event.seq for event in branch(events)} == {event.seq for event in branch(events[:to])} | {state.seq + 1}
        events = [*events, replace(samples.message("on"), seq=after.seq + 1)]


def running(*events: Event) -> State:
    """A conversation that runs, after some more events."""
    return after(*events)


CALL = ModelCallStarted(command="call-1")
CALLED = ModelCalled(command="call-1", model="m", usage=Usage(10, 5), cost=0.25)


def test_a_message_waits_until_the_next_model_call_begins() -> None:
    late = samples.message("also this")
    act = samples.action()
    state = running(CALL, late, CALLED, act)
    assert [seen.id for seen in state.branch.queued] == [late.id]
    state = running(CALL, late, CALLED, act, samples.observation(act), replace(CALL, command="call-2"))
    kinds = [seen.type for seen in state.branch.view]
    assert kinds == ["SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "MessageEvent"]


def test_what_the_model_sees_and_nothing_else_depends_on_waits_for_the_next_call() -> None:
    shown = CondensationSummaryEvent(summary="By the way.")
    assert [seen.id for seen in running(shown).branch.queued][-1] == shown.id
    assert running(shown, CALL).branch.view[-1].id == shown.id


def test_an_answer_in_words_ends_the_run_unless_something_was_said_meanwhile() -> None:
    assert running(CALL, CALLED, samples.answer()).status is ExecutionStatus.FINISHED
    assert running(CALL, samples.message("wait"), CALLED, samples.answer()).status is ExecutionStatus.RUNNING


def test_finish_ends_the_run_and_a_new_message_makes_it_idle() -> None:
    act = samples.action("finish")
    done = (CALL, CALLED, act, samples.observation(act))
    assert running(*done).status is ExecutionStatus.FINISHED
    assert then(running(*done), RunRequested()).status is ExecutionStatus.FINISHED
    assert then(running(*done), samples.message()).status is ExecutionStatus.IDLE
    assert then(running(*done), samples.message(), RunRequested()).status is ExecutionStatus.RUNNING


def test_usage_and_cost_add_up_and_survive_a_rewind() -> None:
    state = running(CALL, CALLED, samples.answer(), BudgetGranted(amount=2.0), HeadMoved(to=3))
    assert state.ledger.usage == Usage(10, 5)
    assert (state.ledger.cost, state.ledger.granted, state.ledger.commands) == (0.25, 2.0, 1)
    assert len(state.branch.view) == 1


def test_a_pause_is_not_lost_when_the_answer_comes() -> None:
    state = running(CALL, PauseEvent(), CALLED, samples.answer())
    assert state.status is ExecutionStatus.PAUSED
    assert running(CALL, PauseEvent(), CALLED, samples.answer(), RunRequested()).status is ExecutionStatus.FINISHED


def test_an_interrupt_lasts_until_the_last_of_what_it_cut_has_ended() -> None:
    act = samples.action()
    started = ExecutionStarted(action_id=act.id, command="execute-1")
    cut = (CALL, CALLED, act, started, InterruptEvent())
    assert running(*cut).branch.cut
    assert running(*cut).status is ExecutionStatus.PAUSED
    assert not running(*cut, samples.failure(act, "cut")).branch.cut
    assert not running(InterruptEvent()).branch.cut, "nothing was in flight"


def test_confirmation_waits_and_goes_on() -> None:
    act = samples.action()
    asked = (CALL, CALLED, act, RiskAssessed(action_id=act.id, risk=SecurityRisk.HIGH))
    waiting = running(*asked, ConfirmationRequested(action_ids=(act.id,)))
    assert waiting.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    assert waiting.branch.pending[0].risk is SecurityRisk.HIGH
    given_ = running(*asked, ConfirmationRequested(action_ids=(act.id,)), ConfirmationGiven(action_ids=(act.id,)))
    assert given_.status is ExecutionStatus.RUNNING
    assert given_.branch.pending[0].approved


def test_a_word_counts_for_what_it_was_asked_for_and_while_it_is_waited_for() -> None:
    act, other = samples.action(id="a"), samples.action(id="b")
    risk = RiskAssessed(action_id="a", risk=SecurityRisk.HIGH)
    early = running(CALL, CALLED, act, other, risk, ConfirmationGiven(action_ids=("a", "b")))
    assert not any(p.approved for p in early.branch.pending), "nobody had asked"
    late = (ConfirmationRequested(action_ids=("a",)), PauseEvent(), ConfirmationGiven(action_ids=("a",)))
    paused = running(CALL, CALLED, act, other, risk, *late)
    assert not any(p.approved for p in paused.branch.pending), "nobody waits any more"
    asked = running(
        CALL,
        CALLED,
        act,
        other,
        risk,
        ConfirmationRequested(action_ids=("a",)),
        ConfirmationGiven(action_ids=("a", "b")),
    )
    assert [p.approved for p in asked.branch.pending] == [True, False], "that one was not asked about"


def test_a_revised_action_must_be_rated_and_approved_again() -> None:
    act, other = samples.action(id="a"), samples.action(id="b")
    risks = (RiskAssessed(action_id=each, risk=SecurityRisk.HIGH) for each in ("a", "b"))
    waits = (CALL, CALLED, act, other, *risks, ConfirmationRequested(action_ids=("a", "b")))
    approved = running(*waits, ConfirmationGiven(action_ids=("a",)))
    assert approved.branch.pending[0].approved
    revised = ActionRevised(action_id=act.id, arguments_json=msgspec.Raw(b'{"command":"rm -rf /"}'))
    state = running(*waits, ConfirmationGiven(action_ids=("a",)), revised)
    pending = state.branch.pending[0]
    assert (pending.risk, pending.approved) == (None, False)
    assert bytes(pending.action.arguments_json) == b'{"command":"rm -rf /"}'


def test_a_second_result_changes_nothing() -> None:
    act = samples.action()
    once = running(CALL, CALLED, act, samples.observation(act))
    twice = fold([replace(samples.failure(act), seq=once.seq + 1)], start=once)
    assert twice.branch == once.branch


def test_a_condensation_puts_its_summary_in_the_place_of_what_it_forgets() -> None:
    act = samples.action(id="a")
    seen = samples.observation(act)
    state = running(
        CALL, CALLED, act, seen, Condensation(id="k", forgotten_event_ids=("a", seen.id), summary="It looked.")
    )
    last = state.branch.view[-1]
    assert (last.id, last.type, len(state.branch.view)) == ("k-summary", "CondensationSummaryEvent", 3)


def test_configuration_changes_by_event() -> None:
    change = ConversationStateUpdateEvent(key="confirmation", value=msgspec.Raw(b'{"type":"AlwaysConfirm"}'))
    assert running(change).spec.confirmation == AlwaysConfirm()


def test_an_error_of_a_closed_action_is_ignored() -> None:
    stray = AgentErrorEvent(action_id="nobody", tool_name="x", tool_call_id="y", error="?")
    before = running()
    assert fold([replace(stray, seq=before.seq + 1)], start=before).branch == before.branch
