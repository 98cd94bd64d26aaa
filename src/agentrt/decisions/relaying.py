"""Relaying: the events that go down to a delegated conversation, and up from it. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from ..events import (
    ChildMessaged,
    ChildWaiting,
    ConversationStateUpdateEvent,
    Event,
    ExecutionStatus,
    MessageEvent,
    PauseEvent,
    RuleAdded,
    RuleRemoved,
    RunRequested,
)
from ..ledger import Child
from ..specs.content import text
from ..specs.raw import raw
from ..state import State, unread
from .answers import approval, rejection, waiting_in
from .ending import answered
from .outcomes import overtaken
from .reports import spent_in, steps_in
from .sharing import chosen_of, least, own_child, share_of


def over(below: State, child: Child) -> bool:
    """Return whether a delegated conversation has ended, or has nothing to do."""
    if not below.at_rest or not _received(below, child) or _unheard(below, child):
        return False
    return below.status.over or (below.status is ExecutionStatus.IDLE and answered(below))


def relayed_down(above: State, child_id: str, below: State) -> tuple[Event, ...]:
    """Return the events to append to the delegated conversation: its task, messages, rules, a person's answers, a run
    or a pause.

    The delegated conversation begins nothing while the delegating one does not run. In each run of the delegating one
    it is told to run once, which its own log records. If it rests nevertheless, a person has stopped it, and it goes on
    when a person says so.
    """
    child, runs, run = above.ledger.children[child_id], above.status.at_work, above.ledger.runs
    rules, told = _rules_down(above, below), below.ledger.above == run
    if not _received(below, child):
        task = MessageEvent(id=_task_id(below, child), source="user", content=text(child.task))
        return (*rules, *_anew(above, child, below), task, *((RunRequested(above=run),) if runs else ()))
    if not runs:
        paused = PauseEvent(reason="the conversation that delegated this was paused")
        return (*rules, paused) if below.status is ExecutionStatus.RUNNING else rules
    if told and (unheard := _unheard(below, child)):
        rests = below.status.over or below.status is ExecutionStatus.IDLE
        again = (RunRequested(above=run),) if rests else ()
        return (*rules, *(_said(event) for event in unheard), *again)
    stopped = below.status is ExecutionStatus.PAUSED or not unread(below.branch)
    if not told or (below.status is ExecutionStatus.IDLE and not stopped):
        return (*rules, RunRequested(above=run))
    if below.status in (ExecutionStatus.PAUSED, ExecutionStatus.IDLE):
        return rules
    for answer in child.answers:
        chosen = (answer.action_id,)
        if events := approval(below, chosen) if answer.approved else rejection(below, answer.reason, chosen):
            return (*rules, *events)
    return rules


def _rules_down(above: State, below: State) -> tuple[Event, ...]:
    """Return the rules added above, except those that were removed below, and removals of those gone from above."""
    held, known = above.ledger.rules, (*below.spec.rules, *below.ledger.rules, *below.ledger.withdrawn)
    gone = [one.rule for one in below.ledger.added if one.origin == "above" and one.rule not in held]
    return (
        *(RuleAdded(rule=rule, source="environment") for rule in held if rule not in known),
        *(RuleRemoved(rule=rule, source="environment") for rule in gone),
    )


def announced(above: State, child_id: str, down: tuple[Event, ...]) -> tuple[Event, ...]:
    """Return the event to append to the delegating conversation before `down` lets the delegated one run: while it is
    known there to rest, the delegating one may come to rest, and would leave it again when it hears that this one runs.
    """
    known = above.ledger.children[child_id]
    runs = any(isinstance(event, RunRequested) for event in down)
    if not runs or known.status is ExecutionStatus.RUNNING or known.status.waits:
        return ()
    return (ChildWaiting(child_id=child_id, actions=known.waiting, status=ExecutionStatus.RUNNING),)


def relayed_up(above: State, child_id: str, below: State) -> tuple[Event, ...]:
    """Return the events to append to the delegating conversation: whether the delegated one rests, and what it asks a
    person.
    """
    known, actions = above.ledger.children[child_id], waiting_in(below)
    status = below.status if below.at_rest else ExecutionStatus.RUNNING
    asked = {action.action_id for action in actions}
    answers = {answer.action_id for answer in known.answers}
    unanswered = tuple(action for action in actions if action.action_id not in answers)
    if (status, unanswered) == (known.status, known.waiting) and answers <= asked:
        return ()
    if overtaken(above, child_id, status):
        return ()
    told = ChildWaiting(child_id=child_id, actions=actions, status=status)
    if known.background and status is ExecutionStatus.PAUSED and above.status is not _WAITS:
        told = replace(told, spending=spent_in(below), steps=steps_in(below))  # it may never be opened again
    return (told,)


_WAITS = ExecutionStatus.WAITING_FOR_CONFIRMATION


def _anew(above: State, child: Child, below: State) -> tuple[ConversationStateUpdateEvent, ...]:
    """Return the configuration changes of a conversation that goes on with another task: confirmation as the delegating
    conversation requires now, and limits that allow its new grant on top of what it has used.
    """
    if not below.ledger.runs:
        return ()
    fresh, given, used = share_of(above, child), child.grant, below.ledger
    own, taken = chosen_of(above.spec, child).limits, below.branch.steps
    cost = None if given.cost is None else max(used.cost + given.cost - used.granted, 0.0)
    tokens = None if given.tokens is None else used.usage.total + given.tokens
    limits = replace(
        fresh.limits,
        max_steps=least(own.max_steps + taken, None if given.steps is None else taken + given.steps) or 0,
        max_cost=least(own.max_cost, cost),
        max_tokens=least(own.max_tokens, tokens),
    )
    wanted = {"limits": limits, "analyzer": fresh.analyzer, "confirmation": fresh.confirmation, "flow": fresh.flow}
    return tuple(
        ConversationStateUpdateEvent(key=key, value=raw(value))
        for key, value in wanted.items()
        if getattr(below.spec, key) != value
    )


def _unheard(below: State, child: Child) -> tuple[ChildMessaged, ...]:
    """Return the messages to a background conversation that have not arrived."""
    return tuple(event for event in child.messages if event.id not in below.ledger.message_ids)


def _said(event: ChildMessaged) -> MessageEvent:
    return MessageEvent(id=event.id, source="user", content=text(event.message))


def _received(below: State, child: Child) -> bool:
    return _task_id(below, child) in below.ledger.message_ids


def _task_id(below: State, child: Child) -> str:
    """Return the id of the task's message: the same after a crash, so that a task that comes twice counts once."""
    assert below.created is not None
    name = below.created.conversation_id
    return f"{name}-task" if name == own_child(child.action_id) else f"{child.action_id}-task"
