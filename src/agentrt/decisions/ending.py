"""The end of a run: the final checks, their order, and whether anything is left to do. Pure."""

from __future__ import annotations

from ..events import ExecutionStatus
from ..specs import HookEvent
from ..specs.hooks import hooks_for
from ..state import Check, Ended, Ending, State, unread

CHECKS: tuple[Check, ...] = ("critic", "goal", "stop")
"""The final checks of whether the agent has finished, in order."""


def has_a_say(state: State, check: Check) -> bool:
    """Return whether a final check applies: whether there is a critic, an open goal, or a stop hook."""
    match check:
        case "critic":
            return state.spec.critic is not None
        case "goal":
            return state.ledger.goal is not None and state.ledger.goal.outcome is None
        case "stop":
            return bool(hooks_for(state.spec.hooks, HookEvent.STOP))


def left(state: State) -> Check | None:
    """Return the next final check; None if none is left, or if the agent is not ending."""
    match state.branch.phase:
        case Ending(passed):
            return next((check for check in CHECKS if check not in passed and has_a_say(state, check)), None)
        case Ended() if len(state.branch.view) > 1 and has_a_say(state, "goal"):
            return "goal"  # it was set after the end
        case _:
            return None


def answered(state: State) -> bool:
    """Return whether the agent has nothing to answer."""
    here = state.branch
    if here.pending or here.done or unread(here):
        return False
    match here.phase:
        case Ending():
            return left(state) is None
        case Ended():
            return True
        case _:
            return here.call is None and len(here.view) <= 1


def has_ended(state: State) -> bool:
    """Return whether the agent has had its last word, and nothing was said since."""
    here = state.branch
    over = isinstance(here.phase, Ending) or (not here.condense and answered(state))
    return over and not unread(here)


def idle(state: State) -> bool:
    """Return whether a run would have nothing to do."""
    return answered(state) and not state.branch.condense and left(state) is None and not state.background


def waits_below(state: State) -> bool:
    """Return whether all running work waits for a person: it has asked one itself, or a delegated conversation has."""
    children = [child for child in state.ledger.children.values() if child.open and child.waiting]
    asking = {child.action_id for child in children if child.status is ExecutionStatus.WAITING_FOR_CONFIRMATION}
    asking |= {asked.action_id for asked in state.branch.inputs}
    running = [p.action.id for p in state.branch.pending if p.command is not None]
    running += [child.action_id for child in state.background.values()]
    return bool(running) and asking.issuperset(running)
