"""What a critic of all actions judges midway, and that nothing follows from it."""

from __future__ import annotations

import msgspec
import pytest

from agentrt.decisions import Judge, RunHooks, decide
from agentrt.events import (
    ConversationStateUpdateEvent,
    Event,
    ExecutionStatus,
    HeadMoved,
    MessageEvent,
    PauseEvent,
    RunRequested,
    UserRejectObservation,
)
from agentrt.specs import HookEvent
from agentrt.specs.content import text
from agentrt.specs.stuck import Critic
from agentrt.state import State
from tests import samples
from tests.decisions.states import after, calls, finished, hooked, judged, started, then, with_hooks

pytestmark = pytest.mark.pure

EVERY = Critic("pass", max_iterations=1, mode="all_actions")
SPEC = with_hooks(critic=EVERY)
SAID = judged("pass", success=False, midway=True)
TOLD = MessageEvent(content=text("This is not done yet."))


def ran(*names: str) -> tuple[Event, ...]:
    """A model call that ends with calls of these tools, and their results."""
    actions = [samples.action(name, id=f"{name}-{place}") for place, name in enumerate(names)]
    results = [event for action in actions for event in (started(action), samples.observation(action))]
    return (*calls(*actions), *results)


def due(state: State) -> str:
    """What is due: the kind of the one command, or who judges."""
    (command,) = decide(state)
    match command:
        case Judge(_, _, midway):
            return "midway" if midway else command.critic
        case RunHooks(_, event):
            return event.value
        case _:
            return type(command).__name__


def test_a_critic_of_all_actions_judges_a_batch_once_and_nothing_follows() -> None:
    batch = ran("look", "terminal")
    assert decide(after(*batch[:-1], spec=SPEC)) == (), "not while something runs"
    state = after(*batch, spec=SPEC)
    assert due(state) == "midway"
    state = then(state, SAID)
    assert due(state) == "CallModel"
    assert state.branch.judged == 0, "it sends nobody back"
    assert due(after(*batch, spec=with_hooks(critic=Critic("pass")))) == "CallModel", "another one waits for the end"


def test_the_end_is_judged_as_the_end() -> None:
    state = after(*ran("look", "finish"), spec=SPEC)
    assert due(state) == "critic"
    state = then(state, judged("pass", success=False), TOLD)
    assert due(state) == "CallModel"
    state = then(state, *ran("terminal"), SAID, *finished("g"), judged("pass", success=False))
    assert state.status is ExecutionStatus.FINISHED, "what was said midway does not count"


def test_what_did_not_run_is_not_judged_midway() -> None:
    refused = UserRejectObservation(action_id="a", tool_name="look", tool_call_id="call_1")
    assert due(after(*calls(samples.action(id="a")), refused, spec=SPEC)) == "CallModel"


def test_hooks_see_a_result_before_it_is_judged_midway() -> None:
    state = after(*ran("look"), spec=with_hooks(HookEvent.AFTER_TOOL, critic=EVERY))
    assert due(state) == "after_tool"
    assert due(then(state, hooked(HookEvent.AFTER_TOOL, "look-0"))) == "midway"


def test_what_was_not_judged_yet_is_judged_when_the_run_goes_on() -> None:
    state = after(*ran("look"), spec=SPEC)
    paused = then(state, PauseEvent(), samples.message("more", id="n"))
    assert due(then(paused, RunRequested())) == "midway"
    assert due(then(paused, SAID, RunRequested())) == "CallModel", "a verdict counts that comes after the pause"
    back = then(state, SAID, PauseEvent(), HeadMoved(to=state.seq))
    assert due(then(back, RunRequested())) == "midway"


def test_a_critic_that_is_taken_back_is_not_asked_midway() -> None:
    state = then(after(*ran("look"), spec=SPEC), critic(None))
    assert due(state) == "CallModel"
    assert due(then(state, critic(EVERY))) == "midway", "nothing has happened since"
    refused = UserRejectObservation(action_id="b", tool_name="look", tool_call_id="call_1")
    called = then(state, *calls(samples.action(id="b")), refused, critic(EVERY))
    assert due(called) == "CallModel", "what was done before the last call is past"


def critic(chosen: Critic | None) -> ConversationStateUpdateEvent:
    return ConversationStateUpdateEvent(key="critic", value=msgspec.Raw(msgspec.json.encode(chosen)))
