"""Answers: a person's decisions about waiting actions, of a conversation and of those to which it delegated."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from ..errors import ConfigurationError
from ..events import ActionEvent, ChildAction, ChildAnswered, ConfirmationGiven, Event, ExecutionStatus, RuleAdded
from ..events import UserRejectObservation as Rejected
from ..specs.rules import PermissionRule, Scope
from ..state import Pending, State
from .permissions import remembering


def waiting(state: State) -> tuple[Pending, ...]:
    """Return the actions that wait for a person; those of children are not in this conversation's history."""
    return (*_own(state), *(_shown(action) for _, action in _of_children(state)))


def awaiting(state: State) -> tuple[Pending, ...]:
    """Return the actions that a client must execute and has given no result of."""
    return tuple(p for p in state.branch.pending if p.awaited)


def awaited(state: State, action_id: str) -> ActionEvent:
    """Return an action that waits for a client's result. Raises `ConfigurationError` if it does not wait."""
    waiting = {p.action.id: p.action for p in awaiting(state)}
    if action_id not in waiting:
        there = f"these do: {', '.join(waiting)}" if waiting else "nothing does"
        raise ConfigurationError(f"no action {action_id!r} waits for a client's result here; {there}")
    return waiting[action_id]


def waiting_in(state: State) -> tuple[ChildAction, ...]:
    """Return the actions that wait for a person, in the form for the conversation that delegated to this one."""
    own = tuple(
        ChildAction(
            action_id=p.action.id,
            tool_name=p.action.tool_name,
            arguments=bytes(p.action.arguments_json).decode(),
            risk=p.risk,
            reason=p.held,
        )
        for p in _own(state)
    )
    return (*own, *(action for _, action in _of_children(state)))


def approval(
    state: State, action_ids: Collection[str] = (), always: Scope | None = None, rule: PermissionRule | None = None
) -> tuple[Event, ...]:
    """Return the batch that approves actions, all waiting ones if none is named. `always` is the scope in which this is
    remembered: as `rule`, or as one rule for each of these actions.
    """
    own = [p.action for p in _own(state) if not action_ids or p.action.id in action_ids]
    events: list[Event] = []
    if own:
        events.append(ConfirmationGiven(action_ids=tuple(action.id for action in own)))
    if always is not None:
        named = [p.action for p in waiting(state) if not action_ids or p.action.id in action_ids]
        alike = (remembering(action, state.definition(action.tool_name)) for action in named)
        chosen = [rule] if rule is not None else alike
        events += [RuleAdded(rule=each, scope=always) for each in dict.fromkeys(chosen)]
    return (*events, *_to_children(state, action_ids, approved=True, reason=""))


def rejection(state: State, reason: str, action_ids: Collection[str] = ()) -> tuple[Event, ...]:
    """Return the batch that rejects actions, all waiting ones if none is named; the agent sees the reason."""
    own = [p.action for p in _own(state) if not action_ids or p.action.id in action_ids]
    return (
        *(_rejected(action, reason) for action in own),
        *_to_children(state, action_ids, approved=False, reason=reason),
    )


def _own(state: State) -> tuple[Pending, ...]:
    if state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
        return ()
    return tuple(p for p in state.branch.pending if p.held and p.command is None and not p.approved)


def _of_children(state: State) -> list[tuple[str, ChildAction]]:
    children = state.ledger.children.items()
    return [(name, action) for name, child in children if child.open for action in child.waiting]


def _to_children(state: State, action_ids: Collection[str], *, approved: bool, reason: str) -> tuple[Event, ...]:
    return tuple(
        ChildAnswered(child_id=child_id, action_id=action.action_id, approved=approved, reason=reason)
        for child_id, action in _of_children(state)
        if not action_ids or action.action_id in action_ids
    )


def _shown(action: ChildAction) -> Pending:
    made = ActionEvent(
        id=action.action_id,
        tool_name=action.tool_name,
        tool_call_id="",
        arguments_json=msgspec.Raw(action.arguments.encode()),
        llm_response_id="",
    )
    return Pending(made, risk=action.risk)


def _rejected(action: ActionEvent, reason: str) -> Rejected:
    return Rejected(
        action_id=action.id,
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        rejection_reason=reason,
        caused_by=action.id,
    )
