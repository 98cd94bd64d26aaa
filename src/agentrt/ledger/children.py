"""The children (delegated conversations) in the ledger of the delegating conversation. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from ..events import (
    ChildAnswered,
    ChildFinished,
    ChildMessaged,
    ChildStarted,
    ChildWaiting,
    ExecutionStatus,
)
from ..usage import Spending
from .parts import Child, Ledger, Used


def child_started(ledger: Ledger, event: ChildStarted) -> Ledger:
    """Apply the start of a child: its grant is reserved. An open one that goes on keeps its waiting actions and the
    answers to them.
    """
    child = Child(
        event.action_id, event.task, event.agent, event.model, event.grant, before=Used(), background=event.background
    )
    if (known := ledger.children.get(event.child_id)) is not None:
        used = None if known.spent is None else Used(known.spent, known.steps)
        before = used if known.open else known.counted
        child = replace(child, agent=known.agent, before=before, counted=known.counted)
        if known.open:
            child = replace(child, waiting=known.waiting, answers=known.answers)
    return replace(ledger, children=ledger.children | {event.child_id: child})


def child_waiting(ledger: Ledger, event: ChildWaiting) -> Ledger:
    """Apply the report that a child has come to rest, or goes on. An answer stays until it has arrived."""
    child = ledger.children.get(event.child_id)
    if child is None:
        return ledger
    asked = {action.action_id for action in event.actions}
    answers = tuple(answer for answer in child.answers if answer.action_id in asked)
    answered = {answer.action_id for answer in answers}
    waiting = tuple(action for action in event.actions if action.action_id not in answered)
    changes = {"status": event.status, "waiting": waiting, "answers": answers}
    return child_changed(ledger, event.child_id, **changes, spent=event.spending, steps=event.steps)


def child_left(ledger: Ledger, action_id: str) -> Ledger:
    """Apply that a child in the background is no longer followed, until the next run."""
    for child_id, child in ledger.children.items():
        if child.open and child.background and child.action_id == action_id:
            ledger = child_changed(ledger, child_id, status=ExecutionStatus.PAUSED, cut=False)
    return ledger


def child_untouched(ledger: Ledger, action_id: str) -> Ledger:
    """Apply that a child was taken up and left before it was open: its usage is that from before."""
    for child_id, child in ledger.children.items():
        if child.action_id == action_id and child.before is not None:
            used = child.before
            ledger = child_changed(ledger, child_id, spent=used.spending, steps=used.steps)
    return ledger


def child_changed(ledger: Ledger, child_id: str, **changes: object) -> Ledger:
    """Return the ledger with changes to a child; the same ledger if there is no such child."""
    child = ledger.children.get(child_id)
    if child is None:
        return ledger
    return replace(ledger, children=ledger.children | {child_id: replace(child, **changes)})


def child_answered(ledger: Ledger, event: ChildAnswered) -> Ledger:
    """Apply a person's answer to a child's question; the first answer counts."""
    child = ledger.children.get(event.child_id)
    if child is None or all(action.action_id != event.action_id for action in child.waiting):
        return ledger
    waiting = tuple(action for action in child.waiting if action.action_id != event.action_id)
    running, answers = ExecutionStatus.RUNNING, (*child.answers, event)
    return child_changed(ledger, event.child_id, status=running, waiting=waiting, answers=answers)


def child_finished(ledger: Ledger, event: ChildFinished) -> Ledger:
    """Apply the end of a child: what it spent counts here, once."""
    if event.child_id in ledger.children and not ledger.children[event.child_id].open:
        return ledger
    known = ledger.children.get(event.child_id)
    counted = known.counted.spending if known is not None else {}
    spending, used = dict(ledger.spending), event.spending or {"child": Spending(cost=event.cost)}
    for usage_id, spent in used.items():
        more = spent - counted[usage_id] if usage_id in counted else spent
        spending[usage_id] = spending.get(usage_id, Spending()) + more
    ledger = replace(ledger, spending=spending)
    return child_changed(
        ledger,
        event.child_id,
        status=event.status,
        open=False,
        waiting=(),
        answers=(),
        messages=(),
        cut=False,
        steps=event.steps,
        counted=Used(used, event.steps),
    )


def steps_of(ledger: Ledger, event: ChildFinished) -> int:
    """Return the model calls of a child that has ended, without those that were counted before."""
    known = ledger.children.get(event.child_id)
    return event.steps - (known.counted.steps if known is not None else 0)


def child_messaged(ledger: Ledger, event: ChildMessaged) -> Ledger:
    """Apply a message to a child that works in the background."""
    child = ledger.children.get(event.child_id)
    if child is None or not child.open:
        return ledger
    return child_changed(ledger, event.child_id, messages=(*child.messages, event))


def children_cut(ledger: Ledger) -> Ledger:
    """Apply an interrupt: the children in the background are to end."""
    for child_id, child in ledger.children.items():
        if child.open and child.background and not child.cut:
            ledger = child_changed(ledger, child_id, cut=True)
    return ledger


def children_lost(ledger: Ledger, action_id: str | None = None) -> Ledger:
    """Apply that the child of an action, unless it works in the background, or all children are never followed again.
    Each counts with its whole grant, unless its usage is known from when it was left.
    """
    for child_id, child in ledger.children.items():
        if child.open and (action_id is None or (action_id == child.action_id and not child.background)):
            used, steps = child.may_have_spent, child.may_have_taken
            lost = ChildFinished(child_id=child_id, status=ExecutionStatus.ERROR, spending=used, steps=steps)
            ledger = child_finished(ledger, lost)
    return ledger
