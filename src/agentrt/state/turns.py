"""Turns: messages, actions and the agent's final answer; `decisions` says what follows from them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ..events import (
    ActionEvent,
    ActionResult,
    ConfirmationGiven,
    CriticAssessed,
    ExecutionStatus,
    HookExecutionEvent,
    MessageEvent,
    ObservationEvent,
    ResourceLost,
    RunEnded,
    RunRequested,
)
from ..ledger import children_lost, judged, ran
from ..specs import Agent, HookEvent
from ..specs.content import plain
from ..specs.flow import Label
from ..specs.hooks import hooks_for
from ..specs.stuck import judges_all
from . import skills
from .parts import Branch, Check, Ended, Ending, Pending, Seen, State, Working
from .seeing import SKILL, as_seen, with_seen

LOOKED_AT = 64
"""The number of results of a batch that are checked, from its end: calls of `finish` come last."""


def unread(here: Branch) -> bool:
    """Return whether a message waits for the next model call; other queued events can wait for it."""
    return any(queued.type == "MessageEvent" for queued in here.queued)


def run_requested(state: State, event: RunRequested) -> State:
    """Apply a request to run."""
    state = replace(state, implied=event.implied)
    if event.above:
        state = replace(state, ledger=replace(state.ledger, above=event.above))
    if state.status.at_work:
        return state
    delegated = state.created is not None and state.created.delegated_by is not None
    granted_once = delegated and not state.status.over  # the run of the delegating conversation goes on
    here = replace(state.branch, steps=state.branch.steps if granted_once else 0, judged=0)
    if state.status.over:
        here = unlimited(here)
    if state.status is ExecutionStatus.STUCK:
        here = replace(here, rearmed=state.seq)
    return replace(state, error=None, branch=here, ledger=ran(state.ledger))


def run_ended(state: State, event: RunEnded) -> State:
    """Apply the end of a run."""
    ended = event.status is ExecutionStatus.FINISHED
    return replace(state, branch=replace(unlimited(state.branch), phase=Ended())) if ended else state


def unlimited(here: Branch) -> Branch:
    """Return the branch without what skills approve and forbid."""
    return replace(here, allowed=(), approved=(), disallowed=()) if here.limited else here


def uncut(here: Branch) -> Branch:
    """End an interrupt once nothing is in flight any more."""
    if not here.cut or here.call is not None or any(p.command for p in here.pending):
        return here
    return replace(here, cut=False)


def unasked(here: Branch, action_id: str) -> Branch:
    """Drop the questions of an action that no longer runs."""
    if not here.inputs:
        return here
    return replace(here, inputs=tuple(one for one in here.inputs if one.action_id != action_id))


UNRATED: Mapping[str, object] = {"risk": None, "reason": "", "sinks": (), "labels": (), "files": {}}


def unheld(here: Branch) -> Branch:
    """Clear all pending confirmation requests. Actions whose question was outdated are to be rated again."""
    if not any(p.held for p in here.pending):
        return here
    unrated = {"held": "", "outdated": False, **UNRATED}
    pending = (replace(p, **unrated) if p.outdated else replace(p, held="") for p in here.pending)
    return replace(here, pending=tuple(pending))


def confirmed(state: State, event: ConfirmationGiven) -> State:
    """Apply approvals of a person; an approval without a pending request, or of an outdated one, changes nothing."""
    if state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
        return state
    here = state.branch
    pending = tuple(
        replace(p, approved=True, restarted="") if p.held and not p.outdated and p.action.id in event.action_ids else p
        for p in here.pending
    )
    return replace(state, branch=replace(here, pending=pending))


def revoked(here: Branch, event: ResourceLost) -> Branch:
    """Apply the loss of a resource to the actions that may depend on it and have not begun.

    A question that waits for a person stays, outdated: the person may answer at any time, also while the conversation
    sleeps.
    """
    if not event.revoked:
        return here
    pending = (_without(p, event.tool_name) if p.action.id in event.revoked else p for p in here.pending)
    return uncut(replace(here, pending=tuple(pending)))


def _without(p: Pending, lost: str) -> Pending:
    if p.held:
        return replace(p, restarted=lost, outdated=True)
    return replace(p, command=None, approved=False, restarted=lost if p.approved else p.restarted, **UNRATED)


def message(state: State, event: MessageEvent) -> State:
    """Apply a message."""
    here, seen = state.branch, as_seen(event)
    if event.source == "agent":
        here = with_seen(here, seen)
        if event.partial:
            return replace(state, branch=here)
        return replace(state, branch=replace(here, phase=Ending()), answer=plain(event.content))
    here = with_labels(replace(here, queued=(*here.queued, seen)), event.labels)
    if event.source != "user":
        return replace(state, branch=here)
    if state.agent is not None and hooks_for(state.agent.hooks, HookEvent.USER_MESSAGE):
        here = replace(here, unheard=(*here.unheard, event.id))
    if event.skills:
        here = skills.heard(here, event)
    known = state.ledger.message_ids | {event.id}
    return replace(state, branch=here, answer=None, ledger=replace(state.ledger, message_ids=known))


def resulted(state: State, event: ActionResult) -> State:
    """Apply the result of an action."""
    here, tool = state.branch, state.definition(event.tool_name)
    seen = as_seen(event, tool)
    closed = next((p for p in here.pending if p.action.id == event.action_id), None)
    if closed is None:
        return state
    here = unasked(here, event.action_id)
    pending = tuple(p for p in here.pending if p is not closed)
    if closed.action.skill:  # the model sees only the skill's text, with the result in it
        here = skills.answered(uncut(replace(here, pending=pending)), event)
        return replace(state, branch=with_labels(here, _labels(state, closed, event)))
    if closed.action.within is None:
        if tool.invokes and isinstance(event, ObservationEvent) and not event.is_error:
            seen = replace(seen, stands=SKILL + str(closed.action.arguments.get(tool.invokes, "")))
        here = with_seen(here, seen)
    else:  # the calling code sees it, not the model
        inner = (replace(one, result=event.seq) if one.id == event.action_id else one for one in here.inner)
        here = replace(here, inner=tuple(inner))
    here = uncut(replace(here, pending=pending))
    here = with_labels(here, _labels(state, closed, event))
    if isinstance(event, ObservationEvent) and event.found:
        here = replace(here, found=tuple(dict.fromkeys((*here.found, *event.found))))
    ran = closed.command is not None or closed.awaited
    if ran and not seen.answer and state.agent is not None:
        here = _done(state.agent, here, seen)
    if ran and isinstance(event, ObservationEvent) and (event.skills or not event.is_error):
        here = skills.reached(replace(state, branch=here), closed.action, event.skills)
    if not pending and _has_finished(here):
        here = replace(here, phase=Ending())
    state = replace(state, branch=here, answer=_finishing(closed.action) if seen.answer else state.answer)
    return _child_lost(state, event.action_id) if tool.delegates else state


def with_labels(here: Branch, labels: tuple[Label, ...]) -> Branch:
    """Add sources of untrusted content to those of the view."""
    return replace(here, labels=tuple(sorted({*here.labels, *labels}))) if labels else here


class _Finishing(msgspec.Struct):
    message: str = ""


def _finishing(action: ActionEvent) -> str:
    """Return the message of a `finish` call; "" if the arguments of a tool with that name have none."""
    try:
        return msgspec.json.decode(action.arguments_json, type=_Finishing, strict=False).message
    except msgspec.ValidationError:
        return ""


def _has_finished(here: Branch) -> bool:
    """Return whether one of the last results ends the turn; in a batch with several such calls, all are carried out."""
    for seen in reversed(here.view.since(max(len(here.view) - LOOKED_AT, 0))):
        if seen.answer or not seen.action_id:
            return seen.answer and bool(seen.action_id)
    return False


def _done(agent: Agent, here: Branch, seen: Seen) -> Branch:
    """Mark an action that ran for the hooks after it, and for a critic of all actions."""
    if hooks_for(agent.hooks, HookEvent.AFTER_TOOL, seen.tool_name):
        here = replace(here, done=(*here.done, seen.action_id))
    return replace(here, phase=Working(unjudged=True)) if judges_all(agent.critic) else here


def _child_lost(state: State, action_id: str) -> State:
    """Close a delegation that has a result but no report of its usage: count all that was granted as used."""
    children = state.ledger.children.values()
    lost = [child for child in children if child.open and not child.background and child.action_id == action_id]
    steps = [child.may_have_taken - child.counted.steps for child in lost]
    if not steps:
        return state
    here = replace(state.branch, steps=state.branch.steps + sum(steps))
    return replace(state, branch=here, ledger=children_lost(state.ledger, action_id))


def _labels(state: State, closed: Pending, event: ActionResult) -> tuple[Label, ...]:
    """Return the sources of untrusted content in a result; an interrupted call's error may contain what the call had
    read.
    """
    if isinstance(event, ObservationEvent):
        return event.labels
    if closed.command is None:
        return ()
    return (*closed.labels, *state.definition(event.tool_name).labels)


def hooked(state: State, event: HookExecutionEvent) -> State:
    """Apply the outcome of hooks."""
    here, target = state.branch, event.target
    match event.hook_event:
        case HookEvent.START:
            return replace(state, ledger=replace(state.ledger, started=True))
        case HookEvent.USER_MESSAGE:
            here = replace(here, unheard=tuple(heard for heard in here.unheard if heard != target))
            if event.verdict == "deny":
                kept = tuple(due for due in here.activating if due.cause != target)
                here = replace(here, queued=tuple(s for s in here.queued if s.id != target), activating=kept)
        case HookEvent.BEFORE_TOOL:
            asked = event.verdict == "ask"
            pending = tuple(
                replace(p, hooked=True, asked=p.asked or asked) if p.action.id == target else p for p in here.pending
            )
            here = replace(here, pending=pending)
        case HookEvent.AFTER_TOOL:
            here = replace(here, done=tuple(done for done in here.done if done != target))
        case HookEvent.STOP:
            here = replace(here, denied=here.denied + 1) if event.verdict == "deny" else passed(here, "stop")
        case HookEvent.END:
            return replace(state, ledger=replace(state.ledger, started=False))
    return replace(state, branch=here)


def assessed(state: State, event: CriticAssessed) -> State:
    """Apply a critic's judgement; feedback to the agent follows as a message."""
    here = state.branch
    if event.midway:
        return replace(state, branch=replace(here, phase=Working()))
    if event.critic == "goal":
        return replace(state, ledger=judged(state.ledger, event))
    return replace(state, branch=passed(replace(here, judged=here.judged + (not event.success)), "critic"))


def passed(here: Branch, *checks: Check) -> Branch:
    """Mark final checks as done."""
    phase = here.phase
    return replace(here, phase=Ending((*phase.passed, *checks))) if isinstance(phase, Ending) else here
