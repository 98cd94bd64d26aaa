"""Turns: who has the word, and when the agent has had its last."""

from __future__ import annotations

from msgspec.structs import replace

from ..events import (
    ActionResult,
    CriticAssessed,
    ExecutionStatus,
    HookExecutionEvent,
    MessageEvent,
    ObservationEvent,
)
from ..ledger import judged
from ..specs import Agent, HookEvent
from ..specs.hooks import matches
from ..specs.tool import DELEGATE, FINISH
from .parts import Branch, State
from .seeing import as_seen

_ENDED = (ExecutionStatus.FINISHED, ExecutionStatus.ERROR, ExecutionStatus.STUCK)
_STOPPABLE = (ExecutionStatus.RUNNING, ExecutionStatus.WAITING_FOR_CONFIRMATION)


def unread(here: Branch) -> bool:
    """Whether a message waits for the next model call; what else is queued can wait for it."""
    return any(queued.type == "MessageEvent" for queued in here.queued)


def answered(state: State) -> bool:
    """Whether the agent has nothing to answer: a run would have nothing to do."""
    here = state.branch
    if here.pending or here.condense or here.done or here.ending is not None or unread(here):
        return False
    if state.status is ExecutionStatus.FINISHED or len(here.view) <= 1:
        return True
    return here.view[-1].answer


def run_requested(state: State) -> State:
    """Someone wants the agent to go on."""
    if state.status in _STOPPABLE:
        return state
    if answered(state):
        return replace(state, status=ExecutionStatus.FINISHED) if state.status is ExecutionStatus.PAUSED else state
    here = replace(state.branch, steps=0, judged=0)
    return replace(state, status=ExecutionStatus.RUNNING, error=None, branch=here)


def stopped(state: State, here: Branch) -> State:
    """Nothing new is begun."""
    return replace(state, branch=here, status=ExecutionStatus.PAUSED if state.status in _STOPPABLE else state.status)


def uncut(here: Branch) -> Branch:
    """The cut ends with the last of what was in flight."""
    if not here.cut or here.call is not None or any(p.command for p in here.pending):
        return here
    return replace(here, cut=False)


def waiting_for_children(state: State) -> State:
    """A conversation waits for a person when all that it has in flight does."""
    if state.status is not ExecutionStatus.RUNNING or not state.ledger.children or state.branch.call is not None:
        return state
    asking = {child.action_id for child in state.ledger.children.values() if child.open and child.waiting}
    running = [p for p in state.branch.pending if p.command is not None]
    if running and all(p.action.tool_name == DELEGATE and p.action.id in asking for p in running):
        return replace(state, status=ExecutionStatus.WAITING_FOR_CONFIRMATION)
    return state


def message(state: State, event: MessageEvent) -> State:
    """Something was said."""
    here, seen = state.branch, as_seen(event)
    if event.source == "agent":
        state = replace(state, branch=replace(here, view=here.view.append(seen)))
        return state if event.partial else _ending(state)
    kept, unheard = state.ledger, here.unheard
    if event.source == "user":
        kept = replace(kept, message_ids=kept.message_ids | {event.id})
        if state.agent is not None and _hooks(state.agent, HookEvent.USER_MESSAGE):
            unheard = (*unheard, event.id)
    return replace(
        state,
        branch=replace(here, queued=(*here.queued, seen), unheard=unheard, ending=None),
        ledger=kept,
        status=ExecutionStatus.IDLE if state.status in _ENDED else state.status,
    )


def resulted(state: State, event: ActionResult) -> State:
    """An action has its result."""
    here = state.branch
    pending = tuple(p for p in here.pending if p.action.id != event.action_id)
    if len(pending) == len(here.pending):
        return state
    ran = any(p.command for p in here.pending if p.action.id == event.action_id)
    finished = isinstance(event, ObservationEvent) and event.tool_name == FINISH and not event.is_error
    here = uncut(replace(here, view=here.view.append(as_seen(event)), pending=pending))
    if isinstance(event, ObservationEvent) and event.labels:
        here = replace(here, labels=tuple(sorted({*here.labels, *event.labels})))
    if ran and not finished and state.agent is not None and _hooks(state.agent, HookEvent.AFTER_TOOL, event.tool_name):
        here = replace(here, done=(*here.done, event.action_id))
    state = replace(state, branch=here)
    if finished:
        return _ending(state)
    if state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
        state = replace(state, status=ExecutionStatus.RUNNING)
    return waiting_for_children(state)


def hooked(state: State, event: HookExecutionEvent) -> State:
    """Hooks have run."""
    here, target = state.branch, event.target
    match event.hook_event:
        case HookEvent.START:
            return replace(state, ledger=replace(state.ledger, started=True))
        case HookEvent.USER_MESSAGE:
            here = replace(here, unheard=tuple(heard for heard in here.unheard if heard != target))
            if event.verdict == "deny":
                here = replace(here, queued=tuple(seen for seen in here.queued if seen.id != target))
            state = replace(state, branch=here)
            return _finished(state) if event.verdict == "deny" and not unread(here) else state
        case HookEvent.BEFORE_TOOL:
            asked = event.verdict == "ask"
            pending = tuple(
                replace(p, hooked=True, asked=p.asked or asked) if p.action.id == target else p for p in here.pending
            )
            return replace(state, branch=replace(here, pending=pending))
        case HookEvent.AFTER_TOOL:
            return _settled(
                replace(state, branch=replace(here, done=tuple(done for done in here.done if done != target)))
            )
        case HookEvent.STOP:
            return _settled(replace(state, branch=_passed(here, "stop"))) if event.verdict != "deny" else state
        case _:
            return state


def assessed(state: State, event: CriticAssessed) -> State:
    """What the agent finished was judged; what it is told when that was not enough comes as a message."""
    if event.critic == "goal":
        state = replace(state, ledger=judged(state.ledger, event))
        over = state.ledger.goal is None or state.ledger.goal.status != "running"
        return _settled(replace(state, branch=_passed(state.branch, "goal"))) if over else state
    critic, here = state.spec.critic, state.branch
    if event.success or critic is None or here.judged >= critic.max_iterations:
        return _settled(replace(state, branch=_passed(here, "critic")))
    return replace(state, branch=replace(here, judged=here.judged + 1))


def _ending(state: State) -> State:
    """The agent wants to end."""
    if state.status is not ExecutionStatus.RUNNING or unread(state.branch):
        return state
    checks = []
    if state.agent is not None:
        if state.agent.critic is not None:
            checks.append("critic")
        if state.ledger.goal is not None and state.ledger.goal.status == "running":
            checks.append("goal")
        if _hooks(state.agent, HookEvent.STOP):
            checks.append("stop")
    if not checks and not state.branch.done:
        return _finished(state)
    return replace(state, branch=replace(state.branch, ending=tuple(checks)))


def _passed(here: Branch, check: str) -> Branch:
    return here if here.ending is None else replace(here, ending=tuple(name for name in here.ending if name != check))


def _settled(state: State) -> State:
    """It has ended when nothing has a say in that any more."""
    return _finished(state) if state.branch.ending == () and not state.branch.done else state


def _finished(state: State) -> State:
    here = state.branch if state.branch.ending is None else replace(state.branch, ending=None)
    status = ExecutionStatus.FINISHED if state.status is ExecutionStatus.RUNNING else state.status
    return replace(state, branch=here, status=status)


def _hooks(agent: Agent, event: HookEvent, tool: str = "") -> bool:
    return any(hook.event is event and (not tool or matches(hook, tool)) for hook in agent.hooks)
