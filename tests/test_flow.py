"""Information flow: what untrusted content may have caused is asked about where it would do harm, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentrt import InformationFlow, Scene
from agentrt.decisions import RequestConfirmation, decide
from agentrt.events import (
    ActionEvent,
    ModelCalled,
    ModelCallStarted,
    ObservationEvent,
    RiskAssessed,
)
from agentrt.security.rating import Rating
from agentrt.specs import LocalWorkspace
from agentrt.state import State
from tests import samples
from tests.security.corpus import rate_action

from .decisions.states import after, then

pytestmark = pytest.mark.pure

SCENE = Scene(LocalWorkspace("/home/me/project"), "/home/me/project")

LABELS = {"tickets": ("mcp",)}
"""Tools that say where their results come from."""


class Flow(msgspec.Struct, frozen=True):
    """What was done, what is asked for then, and the reason for which a person is asked."""

    reads: list[tuple[str, dict[str, Any]]]
    then: tuple[str, dict[str, Any]]
    asked: str | None
    why: str


FLOWS = [
    msgspec.json.decode(line, type=Flow)
    for line in (Path(__file__).parent / "security" / "flows.jsonl").read_bytes().splitlines()
]


def asked_for(state: State, tool: str, arguments: dict[str, Any]) -> tuple[State, ActionEvent, Rating]:
    """The state after the model has asked for a call, and the call was rated."""
    raw = msgspec.Raw(msgspec.json.encode(arguments))
    action = replace(samples.action(tool, f"r{state.seq}"), arguments_json=raw)
    rating = rate_action(action, SCENE)
    rated = RiskAssessed(action_id=action.id, risk=rating.risk, sinks=rating.sinks, labels=rating.labels)
    called = ModelCalled(command=f"call-{state.seq}", model="m")
    state = then(state, ModelCallStarted(command=called.command), called, action, rated)
    return state, action, rating


def reasons(flow: Flow, policy: InformationFlow | None) -> tuple[str, ...]:
    spec = replace(samples.agent(analyzer="rules"), flow=policy)
    state = after(spec=spec)
    for tool, arguments in flow.reads:
        state, action, rating = asked_for(state, tool, arguments)
        result: ObservationEvent = replace(samples.observation(action), labels=(*rating.labels, *LABELS.get(tool, ())))
        state = then(state, result)
    state, *_ = asked_for(state, *flow.then)
    due = decide(state)
    return tuple(code for command in due if isinstance(command, RequestConfirmation) for _, code in command.reasons)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: f"{flow.why}: {flow.then[1] or flow.then[0]}"[:70])
def test_a_flow_is_asked_about(flow: Flow) -> None:
    assert reasons(flow, InformationFlow()) == ((flow.asked,) if flow.asked else ())


def test_it_is_off_unless_it_is_switched_on() -> None:
    assert {reasons(flow, None) for flow in FLOWS} == {()}


def test_only_the_labels_and_sinks_that_are_named_count() -> None:
    for flow in FLOWS:
        assert reasons(flow, InformationFlow(labels=())) == ()
        found = reasons(flow, InformationFlow(sinks=()))
        assert all(code.endswith(">unknown") for code in found)
