"""What goes down to a conversation that is delegated to, and up from it, as pure functions of two states."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from agentrt.decisions import announced, over, relayed_down, relayed_up, wanted
from agentrt.events import (
    ActionEvent,
    ChildAction,
    ChildAnswered,
    ChildStarted,
    ChildWaiting,
    ConfirmationGiven,
    ConfirmationRequested,
    ConversationCreated,
    Event,
    ExecutionStarted,
    ExecutionStatus,
    MessageEvent,
    ModelCalled,
    ModelCallStarted,
    PauseEvent,
    RuleAdded,
    RuleRemoved,
    RunRequested,
    UserRejectObservation,
)
from agentrt.ledger import Child
from agentrt.specs import AlwaysConfirm, PermissionRule, SecurityRisk
from agentrt.specs.content import plain
from agentrt.state import State

from . import samples
from .decisions.states import then

pytestmark = pytest.mark.pure

CHILD = "d-child"
RULE = PermissionRule("deny", "terminal")


KNOWN = Child("d", "Dig.")
"""As the one above has it."""


def above(*more: Event) -> State:
    """A conversation that has delegated."""
    action = replace(samples.action("delegate", "r"), id="d", arguments_json=msgspec.Raw(b'{"task":"Dig."}'))
    begun = (
        *samples.beginning(),
        samples.message(),
        RunRequested(),
        ModelCallStarted(command="call-1"),
        ModelCalled(command="call-1", model="m"),
        action,
        ExecutionStarted(command="execute-d-1", action_id="d"),
        ChildStarted(child_id=CHILD, task="Dig.", action_id="d"),
    )
    return then(State(), *begun, *more)


def below(*more: Event) -> State:
    """The conversation that it delegated to."""
    created, *rest = samples.beginning(samples.agent(analyzer="rules", confirmation=AlwaysConfirm()))
    assert isinstance(created, ConversationCreated)
    return then(State(), replace(created, conversation_id=CHILD), *rest, *more)


def at_work() -> tuple[Event, ...]:
    """What a child was told."""
    (task, run) = relayed_down(above(), CHILD, below())
    return (task, run)


def held() -> tuple[ActionEvent, tuple[Event, ...]]:
    """A child that asks a person about an action."""
    action = samples.action("terminal", "r")
    call = (ModelCallStarted(command="call-1"), ModelCalled(command="call-1", model="m"))
    return action, (*at_work(), *call, action, ConfirmationRequested(action_ids=(action.id,), reasons=("risk",)))


def test_it_is_given_its_task_and_runs() -> None:
    task, run = at_work()
    assert isinstance(task, MessageEvent)
    assert (task.id, plain(task.content)) == (f"{CHILD}-task", "Dig.")
    assert isinstance(run, RunRequested)
    assert relayed_down(above(), CHILD, below(task, run)) == ()


def test_nothing_is_begun_below_while_the_conversation_above_is_paused() -> None:
    (task,) = relayed_down(above(PauseEvent()), CHILD, below())
    assert isinstance(task, MessageEvent)
    (pause,) = relayed_down(above(PauseEvent()), CHILD, below(*at_work()))
    assert isinstance(pause, PauseEvent)
    assert relayed_down(above(PauseEvent()), CHILD, below(*at_work(), pause)) == ()
    (again,) = relayed_down(above(PauseEvent(), RunRequested()), CHILD, below(*at_work(), pause))
    assert isinstance(again, RunRequested)


def test_one_that_a_person_stopped_below_goes_on_when_one_says_so() -> None:
    stopped = below(*at_work(), PauseEvent())
    assert relayed_down(above(), CHILD, stopped) == ()
    (again,) = relayed_down(above(PauseEvent(), RunRequested()), CHILD, stopped)
    assert isinstance(again, RunRequested), "not told since the one above runs"
    (rests,) = relayed_up(above(), CHILD, stopped)
    assert isinstance(rests, ChildWaiting)
    assert above(rests).status is ExecutionStatus.RUNNING
    assert relayed_up(above(rests), CHILD, stopped) == ()
    (rule,) = relayed_down(above(RuleAdded(rule=RULE)), CHILD, stopped)
    assert isinstance(rule, RuleAdded)


def test_the_one_above_knows_that_it_runs_before_it_does() -> None:
    stopped = below(*at_work(), PauseEvent())
    rests = relayed_up(above(), CHILD, stopped)
    paused = above(*rests, PauseEvent())
    assert paused.at_rest
    resumed = then(paused, RunRequested())
    again = relayed_down(resumed, CHILD, stopped)
    (runs,) = announced(resumed, CHILD, again)
    assert isinstance(runs, ChildWaiting)
    assert not then(resumed, runs, PauseEvent()).at_rest, "until it is paused below"
    assert announced(then(resumed, runs), CHILD, again) == ()
    assert announced(above(), CHILD, at_work()) == (), "a new one is known to run"


def test_that_it_runs_is_not_true_any_more_once_the_one_above_is_paused() -> None:
    rests = ChildWaiting(child_id=CHILD, actions=(), status=ExecutionStatus.PAUSED)
    runs = replace(rests, status=ExecutionStatus.RUNNING)
    assert wanted(above(rests), (runs,)) == [runs]
    assert wanted(above(rests, PauseEvent()), (runs,)) == []
    left = replace(runs, spending={})
    assert wanted(above(rests, PauseEvent()), (left,)) == [left], "what it has spent is true whatever comes first"


def grandchild() -> tuple[ActionEvent, tuple[Event, ...]]:
    """A child that has delegated, too."""
    action = replace(samples.action("delegate", "r"), id="g", arguments_json=msgspec.Raw(b'{"task":"Dig deeper."}'))
    begun = (
        ModelCallStarted(command="call-1"),
        ModelCalled(command="call-1", model="m"),
        action,
        ExecutionStarted(command="execute-g-1", action_id="g"),
        ChildStarted(child_id="g-child", task="Dig deeper.", action_id="g"),
    )
    return action, (*at_work(), *begun)


def test_what_is_told_of_a_child_that_is_winding_up_is_taken_or_not_told() -> None:
    """A paused one whose own child still runs does not rest. Telling again and again what is not taken never ends."""
    _, begun = grandchild()
    asks = ChildAction("x", "terminal", "{}", SecurityRisk.HIGH, "risk")
    paused = below(*begun, PauseEvent())
    asking = then(
        paused, ChildWaiting(child_id="g-child", actions=(asks,), status=ExecutionStatus.WAITING_FOR_CONFIRMATION)
    )
    winding_up = then(asking, ChildWaiting(child_id="g-child", actions=(asks,), status=ExecutionStatus.RUNNING))
    known_to_rest = ChildWaiting(child_id=CHILD, actions=(), status=ExecutionStatus.PAUSED)
    for state in (paused, asking, winding_up):
        for over_it in (above(), above(PauseEvent()), above(known_to_rest), above(known_to_rest, PauseEvent())):
            told = relayed_up(over_it, CHILD, state)
            assert tuple(wanted(over_it, told)) == told
            assert relayed_up(then(over_it, *told), CHILD, state) == (), "it is told once"
    assert not paused.at_rest
    assert relayed_up(above(known_to_rest, PauseEvent()), CHILD, paused) == ()
    assert relayed_up(above(PauseEvent()), CHILD, winding_up) != (), "what it asks a person is told"


def test_one_that_is_at_work_when_the_one_above_runs_again_is_told_so_once() -> None:
    _, asked = held()
    resumed, below_it = above(PauseEvent(), RunRequested()), below(*asked)
    (again,) = relayed_down(resumed, CHILD, below_it)
    told = then(below_it, again)
    assert (told.status, told.branch) == (ExecutionStatus.WAITING_FOR_CONFIRMATION, below_it.branch)
    assert relayed_down(resumed, CHILD, told) == ()
    assert relayed_down(resumed, CHILD, then(told, PauseEvent())) == (), "its log remembers that it was told"


def test_one_to_which_more_was_said_when_it_had_ended_goes_on() -> None:
    ended = (*at_work(), ModelCallStarted(command="call-1"), samples.answer())
    done = below(*ended, ModelCalled(command="call-1", model="m"))
    assert over(done, KNOWN)
    more = then(done, samples.message("And?"))
    assert not over(more, KNOWN)
    (again,) = relayed_down(above(), CHILD, more)
    assert isinstance(again, RunRequested)


def test_a_rule_goes_down_once() -> None:
    rule, *_ = relayed_down(above(RuleAdded(rule=RULE)), CHILD, below())
    assert isinstance(rule, RuleAdded)
    assert relayed_down(above(RuleAdded(rule=RULE)), CHILD, below(*at_work(), rule)) == ()


def test_a_rule_that_is_taken_back_above_is_so_below_and_one_taken_back_below_stays_so() -> None:
    added, removed = RuleAdded(rule=RULE), RuleRemoved(rule=RULE)
    (came,) = relayed_down(above(added), CHILD, below(*at_work()))
    (gone,) = relayed_down(above(added, removed), CHILD, below(*at_work(), came))
    assert isinstance(gone, RuleRemoved)
    assert relayed_down(above(added, removed), CHILD, below(*at_work(), came, gone)) == ()
    (again,) = relayed_down(above(added, removed, added), CHILD, below(*at_work(), came, gone))
    assert isinstance(again, RuleAdded)
    assert relayed_down(above(added), CHILD, below(*at_work(), came, removed)) == ()
    assert relayed_down(above(added, removed), CHILD, below(*at_work(), came, gone, added)) == (), "it is its own"


def test_what_waits_comes_up_once_and_the_answer_goes_down_once() -> None:
    action, asked = held()
    (waiting,) = relayed_up(above(), CHILD, below(*asked))
    assert isinstance(waiting, ChildWaiting)
    assert [shown.action_id for shown in waiting.actions] == [action.id]
    assert above(waiting).status is ExecutionStatus.WAITING_FOR_CONFIRMATION
    assert relayed_up(above(waiting), CHILD, below(*asked)) == ()

    answer = ChildAnswered(child_id=CHILD, action_id=action.id, approved=True)
    assert above(waiting, answer).status is ExecutionStatus.RUNNING
    (given,) = relayed_down(above(waiting, answer), CHILD, below(*asked))
    assert given == replace(ConfirmationGiven(action_ids=(action.id,)), id=given.id, timestamp=given.timestamp)
    assert relayed_down(above(waiting, answer), CHILD, below(*asked, given)) == ()
    (arrived,) = relayed_up(above(waiting, answer), CHILD, below(*asked, given))
    done = above(waiting, answer, arrived)
    assert done.ledger.children[CHILD].answers == ()
    assert done.ledger.children[CHILD].status is ExecutionStatus.RUNNING


def test_a_reason_goes_down() -> None:
    action, asked = held()
    answer = ChildAnswered(child_id=CHILD, action_id=action.id, approved=False, reason="Not there.")
    waiting = relayed_up(above(), CHILD, below(*asked))
    (refused,) = relayed_down(above(*waiting, answer), CHILD, below(*asked))
    assert isinstance(refused, UserRejectObservation)
    assert refused.rejection_reason == "Not there."


def test_no_answer_goes_down_while_the_conversation_above_is_paused() -> None:
    action, asked = held()
    waiting = relayed_up(above(), CHILD, below(*asked))
    answer = ChildAnswered(child_id=CHILD, action_id=action.id, approved=True)
    paused = above(*waiting, PauseEvent(), answer)
    assert relayed_down(paused, CHILD, below(*asked)) == ()
    (rests,) = relayed_up(paused, CHILD, below(*asked))
    assert above(*waiting, PauseEvent(), answer, rests).at_rest
    assert above(*waiting, PauseEvent(), answer, rests).ledger.children[CHILD].answers == (
        paused.ledger.children[CHILD].answers
    )


def test_an_answer_is_not_lost_to_what_is_asked_at_the_same_time() -> None:
    """The child asks for more while a person answers: the answer stays, and is asked for no more."""
    first, second = (ChildAction(name, "terminal", "{}") for name in ("one", "two"))
    answer = ChildAnswered(child_id=CHILD, action_id="one", approved=True)
    state = above(
        ChildWaiting(child_id=CHILD, actions=(first,)), answer, ChildWaiting(child_id=CHILD, actions=(first, second))
    )
    child = state.ledger.children[CHILD]
    assert [given.action_id for given in child.answers] == ["one"]
    assert [waiting.action_id for waiting in child.waiting] == ["two"]


def test_an_answer_survives_that_the_child_is_begun_again() -> None:
    action = ChildAction("one", "terminal", "{}")
    answer = ChildAnswered(child_id=CHILD, action_id="one", approved=True)
    again = ChildStarted(child_id=CHILD, task="Dig.", action_id="d")
    state = above(ChildWaiting(child_id=CHILD, actions=(action,)), answer, again)
    assert [given.action_id for given in state.ledger.children[CHILD].answers] == ["one"]


def test_one_that_was_rewound_to_before_its_task_is_over() -> None:
    assert not over(below(), KNOWN)
    assert not over(below(*at_work()), KNOWN)
    assert not over(below(at_work()[0]), KNOWN)
    assert over(replace(below(), ledger=below(*at_work()).ledger), KNOWN)
