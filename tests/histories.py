"""Histories that the rules of the loop allow, drawn at random."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.decisions import (
    AssessRisk,
    Command,
    Condense,
    beginning,
    decide,
    interruption,
)
from agentrt.events import (
    ActionRevised,
    Condensation,
    CondensationRequest,
    ConfirmationGiven,
    Event,
    ExecutionStatus,
    HeadMoved,
    ModelCalled,
    PauseEvent,
    RiskAssessed,
    RunRequested,
)
from agentrt.specs import ConfirmRisky, Limits, SecurityRisk
from agentrt.state import State, apply
from agentrt.usage import Usage
from tests import samples


def step(draw: st.DrawFn, state: State) -> tuple[Event, ...]:
    """Something that can happen next."""
    commands = decide(state)
    choices = ["message", "pause", "interrupt", "run", "perform", "perform", "perform", "close", "close", "rewind"]
    choices.append("revise")
    held = [p.action.id for p in state.branch.pending if p.command is None]
    match draw(st.sampled_from(choices)):
        case "perform" if commands:
            return _begin(commands[0], draw)
        case "close" if state.in_flight:
            return _end(draw, state)
        case "pause":
            return (PauseEvent(),)
        case "interrupt":
            return interruption(state, "")
        case "run":
            return (RunRequested(),)
        case "revise" if held:
            return (ActionRevised(action_id=draw(st.sampled_from(held)), arguments=msgspec.Raw(b'{"revised":true}')),)
        case "rewind" if not state.in_flight and state.status is not ExecutionStatus.RUNNING and state.checkpoints:
            return (HeadMoved(to=draw(st.sampled_from(list(state.checkpoints))).seq),)
        case _:
            return _person(state)


def _person(state: State) -> tuple[Event, ...]:
    if state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
        return (ConfirmationGiven(action_ids=tuple(p.action.id for p in state.branch.pending)),)
    return (samples.message(),)


def _begin(command: Command, draw: st.DrawFn) -> tuple[Event, ...]:
    match command:
        case AssessRisk(_, action):
            return (RiskAssessed(action_id=action.id, risk=draw(st.sampled_from(SecurityRisk))),)
        case Condense():
            return (Condensation(forgotten_event_ids=(), summary=""),)
        case _:
            return beginning(command)


def _end(draw: st.DrawFn, state: State) -> tuple[Event, ...]:
    if state.branch.call is None:
        started = [p.action for p in state.branch.pending if p.command is not None]
        return (samples.observation(draw(st.sampled_from(started))),)
    called = ModelCalled(command=state.branch.call, model="m", usage=Usage(3, 2), cost=0.5)
    calls = 0 if state.branch.cut else draw(st.integers(0, 3))
    names = draw(st.lists(st.sampled_from(["look", "terminal", "finish"]), min_size=calls, max_size=calls))
    if not names:
        overflow = draw(st.booleans())
        return (called, CondensationRequest() if overflow else samples.answer(partial=state.branch.cut))
    response = f"r{state.seq}"
    return (called, *(samples.action(name, response, *(["x"] if name == "look" else [])) for name in names))


@st.composite
def histories(draw: st.DrawFn, steps: int = 25) -> list[Event]:
    """The events of a conversation, numbered."""
    spec = samples.agent(
        analyzer=draw(st.sampled_from([None, "rules"])),
        confirmation=ConfirmRisky(SecurityRisk.HIGH, confirm_unknown=draw(st.booleans())),
        limits=Limits(max_steps=draw(st.integers(1, 9)), tool_concurrency=draw(st.integers(1, 3))),
    )
    events: list[Event] = []
    state = State()
    batch: tuple[Event, ...] = samples.beginning(spec)
    for _ in range(draw(st.integers(0, steps))):
        for event in batch:
            events.append(replace(event, seq=state.seq + 1))
            state = apply(state, events[-1])
        batch = step(draw, state)
    return events
