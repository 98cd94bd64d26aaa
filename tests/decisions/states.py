"""States of a conversation that runs, for tests of what is due in them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from agentrt.decisions import AwaitChildren, End, beginning, decide
from agentrt.events import (
    ActionEvent,
    ChildAction,
    ChildWaiting,
    ConfirmationRequested,
    CriticAssessed,
    Event,
    ExecutionStarted,
    GoalSet,
    HookExecutionEvent,
    ModelCalled,
    ModelCallStarted,
    RiskAssessed,
    RunRequested,
)
from agentrt.specs import Agent, ConfirmRisky, Hook, HookEvent, SecurityRisk
from agentrt.specs.rules import Verdict
from agentrt.specs.stuck import Critic
from agentrt.state import State, fold
from tests import samples

CALL = ModelCallStarted(command="call-1")
CALLED = ModelCalled(command="call-1", model="m")
RISKY = samples.agent(analyzer="rules", confirmation=ConfirmRisky())
GOAL = GoalSet(objective="all tests pass", max_iterations=2)


def after(*events: Event, spec: Agent | None = None) -> State:
    """A conversation with a message that runs, after some more events."""
    first = [*samples.beginning(spec), samples.message(), RunRequested()]
    return then(State(), *first, *events)


def then(state: State, *events: Event) -> State:
    """The state after some more events, and after the end that they may lead to, as the log notes it."""
    state = fold(samples.numbered(events, state.seq + 1), start=state)
    ends = [command for command in decide(state) if isinstance(command, End | AwaitChildren)]
    return fold(samples.numbered([*beginning(ends[0])], state.seq + 1), start=state) if ends else state


def calls(*actions: ActionEvent) -> tuple[Event, ...]:
    """A model call that ends with these actions."""
    return (CALL, CALLED, *actions)


def call(name: str = "terminal", id: str = "a", **arguments: Any) -> ActionEvent:
    """A call with arguments of its own."""
    return replace(samples.action(name, id=id), arguments_json=msgspec.Raw(msgspec.json.encode(arguments)))


def started(action: Event, attempt: int = 1) -> ExecutionStarted:
    """The beginning of an execution."""
    return ExecutionStarted(action_id=action.id, command=f"execute-{action.id}-{attempt}", attempt=attempt)


def finished(id: str = "f") -> tuple[Event, ...]:
    """A model call that ends with `finish`, and its result."""
    action = samples.action("finish", id=id)
    return (*calls(action), started(action), samples.observation(action))


def with_hooks(*events: HookEvent, critic: Critic | None = None) -> Agent:
    """An agent with a hook for each of these events."""
    return replace(samples.agent(), hooks=tuple(Hook(event=each, function="f") for each in events), critic=critic)


def hooked(event: HookEvent, target: str = "", verdict: Verdict = "allow") -> HookExecutionEvent:
    """Hooks have run."""
    return HookExecutionEvent(hook_event=event, target=target, verdict=verdict)


def judged(critic: str, *, success: bool, midway: bool = False) -> CriticAssessed:
    """What the agent did was judged."""
    return CriticAssessed(critic=critic, score=float(success), success=success, midway=midway)


def rated(id: str, risk: SecurityRisk = SecurityRisk.HIGH) -> RiskAssessed:
    """An action was rated."""
    return RiskAssessed(action_id=id, risk=risk)


def asked(*ids: str) -> ConfirmationRequested:
    """A person is asked."""
    return ConfirmationRequested(action_ids=ids, reasons=("risk",) * len(ids))


def child_waits(child_id: str, *ids: str) -> ChildWaiting:
    """A conversation that is delegated to waits for a person."""
    actions = tuple(ChildAction(each, "terminal", "{}", SecurityRisk.HIGH, "risk") for each in ids)
    return ChildWaiting(child_id=child_id, actions=actions)
