"""Runs of schema versions before 4, whose ends and waits no event records. These rules never change.

A log with such runs keeps the meaning that it had when it was written, whatever `decisions` does today.
"""

from __future__ import annotations

from msgspec.structs import replace

from ..events import Condensation, CriticAssessed, Event, ExecutionStatus, HookExecutionEvent, RunRequested
from ..specs import HookEvent
from ..specs.hooks import hooks_for
from .batches import beginnable
from .parts import Check, Ended, Ending, State
from .turns import passed, unread

_CHECKS: tuple[Check, ...] = ("critic", "goal", "stop")
_RUNNING, _FINISHED, _WAITING = (
    ExecutionStatus.RUNNING,
    ExecutionStatus.FINISHED,
    ExecutionStatus.WAITING_FOR_CONFIRMATION,
)


def told(before: State, event: Event, after: State) -> State:
    """Return the state after an event of such a run, including its implied effects."""
    match event:
        case RunRequested(implied=True) if not before.status.at_work and _answered(before):
            if not before.branch.condense:
                if not (len(before.branch.view) > 1 and _has_a_say(before, "goal")):
                    paused = before.status is ExecutionStatus.PAUSED
                    return replace(before, status=_FINISHED if paused else before.status, implied=True)
                after = replace(after, branch=replace(after.branch, phase=Ending(("critic", "stop"))))
        case Condensation() | HookExecutionEvent(hook_event=HookEvent.USER_MESSAGE, verdict="deny"):
            said = isinstance(event, HookExecutionEvent) or after.status is _RUNNING
            if said and _answered(after):
                return _finished(after)
        case CriticAssessed(critic=critic, success=False, midway=False) if critic != "goal":
            by = before.spec.critic
            if by is not None and before.branch.judged < by.max_iterations:
                return replace(after, branch=replace(after.branch, phase=before.branch.phase))
        case _:
            pass
    after = _settled(after)
    return _waiting(after) if after.status is _RUNNING else after


def _answered(state: State) -> bool:
    here = state.branch
    if here.pending or here.done or isinstance(here.phase, Ending) or unread(here):
        return False
    return state.status is _FINISHED or len(here.view) <= 1 or here.view[-1].answer


def _settled(state: State) -> State:
    here = state.branch
    if not isinstance(here.phase, Ending):
        return state
    left: set[Check] = {check for check in _CHECKS if check not in here.phase.passed}
    silent: tuple[Check, ...] = tuple(check for check in left if not _has_a_say(state, check))
    if silent:
        state = replace(state, branch=passed(here, *silent))
    over = left == set(silent) and not here.done and not unread(here)
    return _finished(state) if over and state.status is _RUNNING else state


def _has_a_say(state: State, check: Check) -> bool:
    agent, goal = state.agent, state.ledger.goal
    match check:
        case "critic":
            return agent is not None and agent.critic is not None
        case "goal":
            return goal is not None and goal.outcome is None
        case "stop":
            return agent is not None and bool(hooks_for(agent.hooks, HookEvent.STOP))


def _finished(state: State) -> State:
    return replace(
        state,
        branch=replace(state.branch, phase=Ended()),
        status=_FINISHED if state.status is _RUNNING else state.status,
    )


def _waiting(state: State) -> State:
    """Set the status to waiting if all running actions wait for a person."""
    here = state.branch
    if not state.ledger.children or here.call is not None or here.cut:
        return state
    asked = [child for child in state.ledger.children.values() if child.open and child.waiting]
    asking = {child.action_id for child in asked if child.status is _WAITING}
    running = [p for p in here.pending if p.command is not None]
    if beginnable(here.pending, state.spec.limits.tool_concurrency):
        return state
    if running and all(p.action.id in asking for p in running):
        return replace(state, status=_WAITING)
    return state
