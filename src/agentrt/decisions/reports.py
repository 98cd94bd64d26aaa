"""Reports: the outcome of a delegation, for the delegating conversation. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec.structs import replace

from ..events import (
    ChildFinished,
    ChildWaiting,
    Event,
    ExecutionLost,
    ExecutionStatus,
    MessageEvent,
    ObservationEvent,
)
from ..ledger import Child, Used
from ..specs.content import text
from ..state import State
from ..usage import Spending, Usage, total
from .answers import waiting_in
from .commands import Attend, Delegate
from .outcomes import action_error, lost

Seeing: TypeAlias = Delegate | Attend
"""Follows a delegated conversation to its end: an action waits for it, or it works in the background."""


def ended(command: Seeing, below: State, words: str) -> tuple[Event, ...]:
    """Return the outcome of a delegation whose conversation has ended; `words` are its last message."""
    match below.status:
        case ExecutionStatus.FINISHED:
            said = words
        case ExecutionStatus.STUCK:
            said = f"It was stopped because it repeated itself. It said last: {words}"
        case ExecutionStatus.IDLE:
            said = "It did nothing: it was rewound to before its task."
        case _:
            said = f"It failed: {below.error.detail if below.error else 'for no known reason'}\nIt said last: {words}"
    return _reported(command, below, said)


def cut_short(above: State, command: Seeing, below: State | None, words: str) -> tuple[Event, ...]:
    """Return the outcome of a delegation that was interrupted; its conversation may not have been open yet."""
    if below is None:
        return _never_open(above, command, "Interrupted before the work had begun.")
    return _reported(command, below, f"Interrupted: the work was cut. It said last: {words}")


def failed(above: State, command: Seeing, below: State | None, words: str, why: str) -> tuple[Event, ...]:
    """Return the outcome of a delegation whose conversation could not be opened, or could not go on."""
    if below is None:
        return _never_open(above, command, f"The task could not be delegated: {why}")
    return _reported(command, below, f"It failed: {why}\nIt said last: {words}", ExecutionStatus.ERROR)


def left(above: State, command: Seeing, below: State | None) -> tuple[Event, ...]:
    """Return the events for a delegation that goes on when the conversation is opened again. Until then its usage so
    far is known, if its conversation was open.
    """
    name = _action_id(above, command)
    lost = ExecutionLost(action_id=name, begun=below is not None, caused_by=name)
    if below is None:
        return (lost,)
    so_far = ChildWaiting(
        child_id=command.child_id,
        status=below.status,
        actions=waiting_in(below),
        spending=spent_in(below),
        steps=steps_in(below),
    )
    return (so_far, lost)


def _never_open(above: State, command: Seeing, why: str) -> tuple[Event, ...]:
    child = above.ledger.children.get(command.child_id)
    used = Used() if child is None else child.before
    if used is None and child is not None and isinstance(command, Attend):
        used = Used(child.may_have_spent, child.may_have_taken)
    if used is None:  # a crash cut it off, so its usage is unknown
        return lost(above, command.id, why)
    ended = ChildFinished(
        child_id=command.child_id,
        status=ExecutionStatus.ERROR,
        cost=total(used.spending.values()).cost,
        spending=used.spending,
        steps=used.steps,
    )
    if isinstance(command, Attend):
        return (ended, _message(ended, why))
    return (ended, action_error(command.action, why))


def _reported(command: Seeing, below: State, said: str, status: ExecutionStatus | None = None) -> tuple[Event, ...]:
    spending = spent_in(below)
    finished = ChildFinished(
        child_id=command.child_id,
        status=status or below.status,
        cost=total(spending.values()).cost,
        spending=spending,
        steps=steps_in(below),
    )
    if isinstance(command, Attend):
        finished = replace(finished, labels=below.branch.labels)
        return finished, _message(finished, said)
    observation = ObservationEvent(
        action_id=command.action.id,
        tool_name=command.action.tool_name,
        tool_call_id=command.action.tool_call_id,
        content=text(f"{said}\n[conversation {command.child_id}]"),
        is_error=finished.status is not ExecutionStatus.FINISHED,
        labels=below.branch.labels,
        caused_by=command.action.id,
    )
    return finished, observation


def _message(ended: ChildFinished, said: str) -> MessageEvent:
    """Return the message that tells the agent about the end of a background task."""
    words = f"[Task {ended.child_id}, in the background, has ended.]\n{said}"
    return MessageEvent(content=text(words), caused_by=ended.id)


def _action_id(above: State, command: Seeing) -> str:
    """Return the id of the action for which a conversation works."""
    if isinstance(command, Delegate):
        return command.action.id
    return above.ledger.children[command.child_id].action_id


def spent_in(below: State) -> dict[str, Spending]:
    """Return the spending by usage id, including all that open calls and children may have spent."""
    spending = dict(below.ledger.spending)

    def add(usage_id: str, more: Spending) -> None:
        spending[usage_id] = spending.get(usage_id, Spending()) + more

    for reserved in below.ledger.reserved.values():
        add(reserved.usage_id, Spending(usage=Usage(prompt_tokens=reserved.tokens), cost=reserved.cost))
    for child in _open(below):
        for usage_id, more in child.may_have_spent.items():
            add(usage_id, more)
    return spending


def steps_in(below: State) -> int:
    """Return the model calls of a conversation, including all that its open children may have made."""
    children = below.ledger.children.values()
    return below.ledger.commands + sum(child.may_have_taken if child.open else child.steps for child in children)


def _open(below: State) -> Iterable[Child]:
    return (child for child in below.ledger.children.values() if child.open)
