"""Turns: who has the word, and when the agent has had its last."""

from __future__ import annotations

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
)
from ..ledger import children_lost, judged, ran
from ..specs import Agent, HookEvent
from ..specs.content import plain
from ..specs.flow import Label
from ..specs.hooks import hooks_for
from ..specs.stuck import judges_all
from .batches import beginnable
from .parts import Branch, Pending, Seen, State
from .seeing import as_seen

LOOKED_AT = 64
"""Results of a batch that are looked at, at its end: calls of `finish` come last."""

CHECKS = ("critic", "goal", "stop")
"""What may have a say in whether the agent has finished, in the order in which they are asked."""


def unread(here: Branch) -> bool:
    """Whether a message waits for the next model call; what else is queued can wait for it."""
    return any(queued.type == "MessageEvent" for queued in here.queued)


def answered(state: State) -> bool:
    """Whether the agent has nothing to answer: a run would have nothing to do."""
    here = state.branch
    if here.pending or here.done or here.ending is not None or unread(here):
        return False
    return state.status is ExecutionStatus.FINISHED or len(here.view) <= 1 or here.view[-1].answer


def run_requested(state: State) -> State:
    """Someone wants the agent to go on."""
    if state.status.at_work:
        return state
    if _is_unjudged(state):  # the goal came after the end
        ended = replace(state.branch, steps=0, judged=0, ending=("goal",))
        return replace(state, status=ExecutionStatus.RUNNING, error=None, branch=ended, ledger=ran(state.ledger))
    if answered(state) and not state.branch.condense:
        return replace(state, status=ExecutionStatus.FINISHED) if state.status is ExecutionStatus.PAUSED else state
    delegated = state.created is not None and state.created.delegated_by is not None
    granted_once = delegated and not state.status.over  # the run of the conversation above goes on
    here = replace(_unheld(state.branch), steps=state.branch.steps if granted_once else 0, judged=0)
    if state.status is ExecutionStatus.STUCK:
        here = replace(here, rearmed=state.seq)
    state = replace(state, status=ExecutionStatus.RUNNING, error=None, branch=here, ledger=ran(state.ledger))
    return waiting_for_children(settled(state))


def _is_unjudged(state: State) -> bool:
    """Whether all that there is to do is to hold what was finished against a goal."""
    here = state.branch
    return answered(state) and not here.condense and len(here.view) > 1 and _has_a_say(state, "goal")


def condensed(state: State) -> State:
    """The view was made shorter; that may have been all that there was to do."""
    return _finished(state) if state.status is ExecutionStatus.RUNNING and answered(state) else state


def stopped(state: State, here: Branch) -> State:
    """Nothing new is begun."""
    return replace(state, branch=here, status=ExecutionStatus.PAUSED if state.status.at_work else state.status)


def uncut(here: Branch) -> Branch:
    """The cut ends with the last of what was in flight."""
    if not here.cut or here.call is not None or any(p.command for p in here.pending):
        return here
    return replace(here, cut=False)


def waiting_for_children(state: State) -> State:
    """A conversation waits for a person when all that it has in flight does."""
    here = state.branch
    if state.status is not ExecutionStatus.RUNNING or not state.ledger.children or here.call is not None or here.cut:
        return state
    children = [child for child in state.ledger.children.values() if child.open and child.waiting]
    asking = {child.action_id for child in children if child.status is ExecutionStatus.WAITING_FOR_CONFIRMATION}
    running = [p for p in here.pending if p.command is not None]
    if beginnable(here.pending, state.spec.limits.tool_concurrency):
        return state
    if running and all(p.action.id in asking for p in running):
        return replace(state, status=ExecutionStatus.WAITING_FOR_CONFIRMATION)
    return state


def asked_anew(state: State) -> State:
    """What a person is asked about is decided again: rules, results or answers have changed it."""
    if state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION:
        state = replace(state, status=ExecutionStatus.RUNNING, branch=_unheld(state.branch))
    return waiting_for_children(state)


def _unheld(here: Branch) -> Branch:
    if not any(p.held for p in here.pending):
        return here
    return replace(here, pending=tuple(replace(p, held="") for p in here.pending))


def confirmed(state: State, event: ConfirmationGiven) -> State:
    """A person approved actions; a word that comes when nobody waits for it any more changes nothing."""
    if state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
        return state
    here = state.branch
    pending = tuple(
        replace(p, approved=True) if p.held and p.action.id in event.action_ids else p for p in here.pending
    )
    return asked_anew(replace(state, branch=replace(here, pending=pending)))


def message(state: State, event: MessageEvent) -> State:
    """Something was said."""
    here, seen = state.branch, as_seen(event)
    if event.source == "agent":
        state = replace(state, branch=replace(here, view=here.view.append(seen)))
        return state if event.partial else _ending(replace(state, answer=plain(event.content)))
    here = replace(here, queued=(*here.queued, seen))
    if event.source != "user":
        return replace(state, branch=here)
    if state.agent is not None and hooks_for(state.agent.hooks, HookEvent.USER_MESSAGE):
        here = replace(here, unheard=(*here.unheard, event.id))
    return replace(
        state,
        branch=here,
        answer=None,
        ledger=replace(state.ledger, message_ids=state.ledger.message_ids | {event.id}),
        status=ExecutionStatus.IDLE if state.status.over else state.status,
    )


def resulted(state: State, event: ActionResult) -> State:
    """An action has its result."""
    here, tool = state.branch, state.definition(event.tool_name)
    seen = as_seen(event, tool)
    closed = next((p for p in here.pending if p.action.id == event.action_id), None)
    if closed is None:
        return state
    pending = tuple(p for p in here.pending if p is not closed)
    here = uncut(replace(here, view=here.view.append(seen), pending=pending))
    if labels := _labels(state, closed, event):
        here = replace(here, labels=tuple(sorted({*here.labels, *labels})))
    if closed.command is not None and not seen.answer and state.agent is not None:
        here = _done(state.agent, here, seen)
    state = replace(state, branch=here, answer=_finishing(closed.action) if seen.answer else state.answer)
    state = asked_anew(_child_lost(state, event.action_id) if tool.delegates else state)
    return _ending(state) if not pending and _has_finished(state.branch) else state


class _Finishing(msgspec.Struct):
    message: str = ""


def _finishing(action: ActionEvent) -> str:
    """The message of a call of `finish`; "" for arguments of a tool of that name that has none."""
    try:
        return msgspec.json.decode(action.arguments, type=_Finishing, strict=False).message
    except msgspec.ValidationError:
        return ""


def _has_finished(here: Branch) -> bool:
    """Whether one of the last results ends the turn: of a batch that finishes twice each has its say."""
    for seen in reversed(here.view.since(max(len(here.view) - LOOKED_AT, 0))):
        if seen.answer or not seen.action_id:
            return seen.answer and bool(seen.action_id)
    return False


def _done(agent: Agent, here: Branch, seen: Seen) -> Branch:
    """An action has run: hooks that come after it are to see that, and a critic of all actions."""
    if hooks_for(agent.hooks, HookEvent.AFTER_TOOL, seen.tool_name):
        here = replace(here, done=(*here.done, seen.action_id))
    return replace(here, unjudged=True) if judges_all(agent.critic) else here


def _child_lost(state: State, action_id: str) -> State:
    """A delegation that has its result, and nobody said what its conversation used: it may be all that was granted."""
    children = state.ledger.children.values()
    steps = [child.may_have_taken for child in children if child.open and child.action_id == action_id]
    if not steps:
        return state
    here = replace(state.branch, steps=state.branch.steps + sum(steps))
    return replace(state, branch=here, ledger=children_lost(state.ledger, action_id))


def _labels(state: State, closed: Pending, event: ActionResult) -> tuple[Label, ...]:
    """What a result holds that nobody vouches for; the error of a call that was cut may hold what it had read."""
    if isinstance(event, ObservationEvent):
        return event.labels
    if closed.command is None:
        return ()
    return (*closed.labels, *state.definition(event.tool_name).labels)


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
            state = settled(replace(state, branch=here))
            return _finished(state) if event.verdict == "deny" and answered(state) else state
        case HookEvent.BEFORE_TOOL:
            asked = event.verdict == "ask"
            pending = tuple(
                replace(p, hooked=True, asked=p.asked or asked) if p.action.id == target else p for p in here.pending
            )
            return replace(state, branch=replace(here, pending=pending))
        case HookEvent.AFTER_TOOL:
            return settled(
                replace(state, branch=replace(here, done=tuple(done for done in here.done if done != target)))
            )
        case HookEvent.STOP:
            return settled(replace(state, branch=_passed(here, "stop"))) if event.verdict != "deny" else state
        case HookEvent.END:
            return replace(state, ledger=replace(state.ledger, started=False))


def assessed(state: State, event: CriticAssessed) -> State:
    """What the agent did was judged; what it is told when that was not enough comes as a message."""
    if event.midway:
        return replace(state, branch=replace(state.branch, unjudged=False))
    if event.critic == "goal":
        state = replace(state, ledger=judged(state.ledger, event))
        return settled(state)
    critic, here = state.spec.critic, state.branch
    if event.success or critic is None or here.judged >= critic.max_iterations:
        return settled(replace(state, branch=_passed(here, "critic")))
    return replace(state, branch=replace(here, judged=here.judged + 1))


def settled(state: State) -> State:
    """It has ended when it wants to, nothing has a say in that any more, and nothing more was said."""
    here = state.branch
    if here.ending is None:
        return state
    left = tuple(check for check in here.ending if _has_a_say(state, check))
    if left or here.done or unread(here) or state.status is not ExecutionStatus.RUNNING:
        return state if left == here.ending else replace(state, branch=replace(here, ending=left))
    return _finished(state)


def _ending(state: State) -> State:
    """The agent wants to end; it is asked for whoever has a say in that when it runs and nothing more was said."""
    return settled(replace(state, branch=replace(state.branch, ending=CHECKS, unjudged=False)))


def _has_a_say(state: State, check: str) -> bool:
    agent, goal = state.agent, state.ledger.goal
    match check:
        case "critic":
            return agent is not None and agent.critic is not None
        case "goal":
            return goal is not None and goal.outcome is None
        case _:
            return agent is not None and bool(hooks_for(agent.hooks, HookEvent.STOP))


def _passed(here: Branch, check: str) -> Branch:
    return here if here.ending is None else replace(here, ending=tuple(name for name in here.ending if name != check))


def _finished(state: State) -> State:
    here = state.branch if state.branch.ending is None else replace(state.branch, ending=None)
    status = ExecutionStatus.FINISHED if state.status is ExecutionStatus.RUNNING else state.status
    return replace(state, branch=here, status=status)
