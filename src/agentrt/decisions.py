"""What is due now: all rules of the agent loop, as a pure function of the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from .errors import EventRefused
from .events import (
    ActionEvent,
    AgentErrorEvent,
    ConversationCreated,
    ConversationErrorEvent,
    DurabilityChanged,
    Event,
    ExecutionLost,
    ExecutionStatus,
    HeadMoved,
    InterruptEvent,
    MessageEvent,
    ModelCalled,
    ObservationEvent,
    PauseEvent,
    ResourceLost,
    UserRejectObservation,
)
from .ledger import allowance
from .specs import Durability, Limits, OnCrash, ToolDefinition
from .specs.llm import members, named
from .specs.policies import asks
from .specs.tool import FINISH, THINK
from .state import Pending, State
from .usage import Usage

HARMLESS = (FINISH, THINK)
"""Tools that nobody is asked about."""

RATED_AT_ONCE = 16
"""Actions of a batch that are rated side by side."""

EVERYTHING = "*"
"""The resource key that every call shares."""


class CallModel(msgspec.Struct, frozen=True):
    """Ask the model for the next step."""

    id: str


class AssessRisk(msgspec.Struct, frozen=True):
    """Rate an action."""

    id: str
    action: ActionEvent


class ExecuteAction(msgspec.Struct, frozen=True):
    """Run a tool."""

    id: str
    action: ActionEvent
    attempt: int


class Condense(msgspec.Struct, frozen=True):
    """Make the view shorter."""

    id: str


class RequestConfirmation(msgspec.Struct, frozen=True):
    """Note that a person must be asked; nobody performs it."""

    id: str
    action_ids: tuple[str, ...]


class StopRun(msgspec.Struct, frozen=True):
    """Note that a limit ends the run; nobody performs it."""

    id: str
    code: str
    detail: str


Command: TypeAlias = CallModel | AssessRisk | ExecuteAction | Condense | RequestConfirmation | StopRun


def decide(state: State) -> tuple[Command, ...]:
    """The commands that are due, in their order; none while a conversation does not run."""
    here = state.branch
    if state.status is not ExecutionStatus.RUNNING or here.cut:
        return ()
    if here.pending:
        return _for_pending(state)
    if here.call is not None:
        return ()
    number = state.ledger.commands + 1
    if here.condense:
        return (Condense(f"condense-{number}"),)
    if (reached := _limit(state)) is not None:
        return (StopRun(f"stop-{number}", *reached),)
    return (CallModel(f"call-{number}"),)


def _limit(state: State) -> tuple[str, str] | None:
    """The limit that keeps the next model call from being made, and what to do about it."""
    limits = state.spec.limits
    if state.branch.steps >= limits.max_steps:
        taken = f"the run took {limits.max_steps} model calls, its limit"
        return "max_steps", f"{taken}: run again to go on, or raise Limits.max_steps"
    if limits.max_cost is None and limits.max_tokens is None:
        return None
    left = allowance(state.ledger, limits)
    if left.cost is not None and left.cost <= 0:
        spent = f"${state.ledger.cost:.4f} of ${(limits.max_cost or 0) + state.ledger.granted:.4f} are spent"
        return "max_cost", f"{spent}: grant more with conversation.grant(), or raise Limits.max_cost"
    if left.tokens is not None and left.tokens <= 0:
        return "max_tokens", f"{limits.max_tokens:,} tokens are used, the limit: raise Limits.max_tokens to go on"
    return None


def _for_pending(state: State) -> tuple[Command, ...]:
    pending, agent = state.branch.pending, state.spec
    waiting = [p for p in pending if p.command is None]
    if agent.analyzer is not None:
        unrated = [p.action for p in waiting if p.risk is None]
        if unrated:
            return tuple(AssessRisk(f"assess-{action.id}", action) for action in unrated[:RATED_AT_ONCE])
        held = tuple(
            p.action.id
            for p in waiting
            if p.risk is not None
            and not p.approved
            and p.action.tool_name not in HARMLESS
            and asks(agent.confirmation, p.risk)
        )
        if held:
            return (RequestConfirmation(f"confirm-{held[0]}", held),)
    return _runnable(pending, agent.limits)


def _runnable(pending: Sequence[Pending], limits: Limits) -> tuple[ExecuteAction, ...]:
    """Those that share no resource with an earlier one, as many as may run side by side."""
    running = sum(p.command is not None for p in pending)
    taken: set[str] = set()
    due: list[ExecuteAction] = []
    for p in pending:
        touches = p.action.resources
        free = (
            taken.isdisjoint(touches)
            and EVERYTHING not in taken
            and not (EVERYTHING in touches and p is not pending[0])
        )
        if p.command is None and free and running + len(due) < limits.tool_concurrency:
            attempt = p.attempt + 1
            due.append(ExecuteAction(f"execute-{p.action.id}-{attempt}", p.action, attempt))
        taken.update(touches)
    return tuple(due)


def refusal(state: State, events: Sequence[Event], command: str | None) -> str | None:
    """Why the outcome of `command` comes too late (the id of what is no longer due); None when it does not."""
    if command is None:
        return None
    if command in state.in_flight:
        cut = state.branch.cut and any(isinstance(e, ActionEvent) for e in events)
        return command if cut else None
    return None if any(due.id == command for due in decide(state)) else command


def check(state: State, events: Sequence[Event]) -> None:
    """Hold the invariants of the history. Raises `EventRefused` when `events` would break one."""
    called = {p.action.id for p in state.branch.pending}
    for event in events:
        match event:
            case ActionEvent():
                called.add(event.id)
            case ObservationEvent() | UserRejectObservation() | AgentErrorEvent():
                if event.action_id not in called:
                    raise EventRefused(f"action {event.action_id!r} has a result already, or was never asked for")
                called.remove(event.action_id)
            case MessageEvent() if state.prompt is None:
                raise EventRefused("a system prompt must precede the first message")
            case HeadMoved() if state.in_flight or state.status is ExecutionStatus.RUNNING:
                raise EventRefused("a conversation that runs cannot be rewound: interrupt it first")
            case HeadMoved() if not 0 < event.to <= state.seq:
                raise EventRefused(f"no event {event.to} to rewind to: there are {state.seq}")
            case _:
                pass


def unfinished(state: State, reason: str) -> tuple[Event, ...]:
    """What closes the actions that an interrupt keeps from starting."""
    return tuple(action_error(p.action, f"Not run: {reason}") for p in state.branch.pending if p.command is None)


def interruption(state: State, reason: str) -> tuple[Event, ...]:
    """The batch that an interrupt logs: the intent, and a result for every action that never started."""
    detail = "the user interrupted." if not reason else f"the user interrupted: {reason}"
    return (InterruptEvent(reason=reason), *unfinished(state, detail))


def expiry(state: State, seconds: float) -> tuple[Event, ...]:
    """The batch that ends a run that took all its time; none for one that has ended by itself."""
    if state.status is not ExecutionStatus.RUNNING:
        return ()
    detail = f"the run took {seconds:g} s, its limit: run again to go on, or raise Limits.max_seconds"
    cut = InterruptEvent(source="environment", reason="max_seconds")
    closed = unfinished(state, "the run had reached its limit of time.")
    return (cut, *closed, ConversationErrorEvent(code="max_seconds", detail=detail, caused_by=cut.id))


def lost(state: State, command: str, why: str) -> tuple[Event, ...]:
    """The outcome of a command whose performer failed, by what kind of command it was.

    A model call may have used all that was reserved for it: that counts.
    """
    if command == state.branch.call:
        llm, reserved = state.spec.llm, state.ledger.reserved
        ended = ModelCalled(command=command, model=named(llm), error=why, usage_id=members(llm)[0].usage_id)
        if reserved is None:
            return (ended,)
        used = Usage(prompt_tokens=reserved.tokens)
        return (replace(ended, usage=used, cost=reserved.cost, usage_id=reserved.usage_id, estimated=True),)
    return tuple(action_error(p.action, why) for p in state.branch.pending if p.command == command)


def recovery(state: State) -> tuple[Event, ...]:
    """What a process that died left open, closed: the first batch after a crash. Empty when it left nothing."""
    events: list[Event] = []
    if state.durability is not Durability.COMMIT:
        events.append(DurabilityChanged(durability=Durability.COMMIT, epoch=state.epoch + 1))
    definitions = _definitions(state)
    if state.branch.call is not None:
        events.extend(lost(state, state.branch.call, "crashed"))
    for p in state.branch.pending:
        if p.command is None:
            continue
        definition = definitions.get(p.action.tool_name)
        match definition.on_crash if definition else OnCrash.ASK:
            case OnCrash.RETRY:
                events.append(ExecutionLost(action_id=p.action.id, caused_by=p.action.id))
            case OnCrash.FAIL:
                events.append(action_error(p.action, "The process died while this ran. It failed."))
            case OnCrash.ASK:
                text = "The process died while this ran: whether it took effect is unknown. Check before you repeat it."
                events.append(action_error(p.action, text))
    events.extend(asleep(state))
    if state.status is ExecutionStatus.RUNNING:
        events.append(PauseEvent(source="environment", reason="the process died"))
    return tuple(events)


def asleep(state: State) -> tuple[Event, ...]:
    """What the model is told when a conversation leaves memory, or has lost it: what its tools held is gone."""
    holders = {name for name, definition in _definitions(state).items() if definition.holds_resource}
    return tuple(_resource_lost(name) for name in sorted(_held(state) & holders))


def forked(state: State, created: ConversationCreated) -> tuple[Event, ...]:
    """The first batch of a fork of a conversation in `state`: what is open there is not done here."""
    why = "Not run here: the conversation was forked before it ended."
    unspent = replace(state, ledger=replace(state.ledger, reserved=None))
    call = lost(unspent, state.branch.call, "forked") if state.branch.call is not None else ()
    return (created, *call, *(action_error(p.action, why) for p in state.branch.pending), *asleep(state))


def _definitions(state: State) -> dict[str, ToolDefinition]:
    return {d.name: d for d in state.prompt.tools} if state.prompt else {}


def _held(state: State) -> set[str]:
    """The tools that were used and not said to be lost since."""
    used: set[str] = set()
    for seen in (*state.branch.view, *state.branch.queued):
        if seen.type == "ActionEvent":
            used.add(seen.tool_name)
        elif seen.type == "ResourceLost":
            used.discard(seen.tool_name)
    return used


def _resource_lost(tool: str) -> ResourceLost:
    return ResourceLost(
        tool_name=tool, detail=f"The {tool} was restarted: its variables, directory and running processes are gone."
    )


def action_error(action: ActionEvent, text: str) -> AgentErrorEvent:
    """What the model is told of an action that gave no observation."""
    return AgentErrorEvent(
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        caused_by=action.id,
        error=text,
    )
