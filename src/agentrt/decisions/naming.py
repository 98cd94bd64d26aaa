"""The ids of commands: each names everything that the command's outcome depends on.

So if a command becomes another one (other arguments, analyzers, hooks, another view), the outcome of the old one is
refused as `NoLongerDue`, and never taken for the outcome of what is due now. Pure.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from ..events import GoalSet
from ..ledger import Child
from ..specs import Critic, Hook, HookEvent
from ..state import Activation, Pending, State


def rating_id(pending: Pending, analyzers: tuple[str, ...]) -> str:
    """Return the id of rating an action with its present arguments, by these analyzers."""
    return _joined("assess", pending.action.id, pending.revised, "+".join(analyzers))


def hooks_id(state: State, event: HookEvent, target: str, revised: int, hooks: tuple[Hook, ...]) -> str:
    """Return the id of running these hooks on this branch, for an action with its present arguments or a message."""
    return _joined("hooks", event.value, target, revised, state.rewound, _digest(hooks))


def judging_id(state: State, by: Critic | GoalSet, *, midway: bool = False) -> str:
    """Return the id of judging the present view, by a critic or against a goal; a goal without a judge is judged by the
    agent's model.
    """
    if isinstance(by, GoalSet):
        return _joined("judge-goal", by.id, _view(state), _digest(by.judge or state.spec.llm))
    return _joined("judge-midway" if midway else "judge-critic", state.branch.judged, _view(state), _digest(by))


def condensing_id(state: State) -> str:
    """Return the id of condensing the present view, by the agent's condenser and its model."""
    return _joined("condense", _view(state), _digest((state.spec.condenser, state.spec.llm)))


def counted_id(kind: str, state: State) -> str:
    """Return the id of a command that is counted when it begins, so that the id never comes again."""
    return _joined(kind, state.ledger.commands + 1)


def attending_id(child: Child) -> str:
    """Return the id of following a background conversation, by the action that last started it or told it to go on."""
    return _joined("attend", child.action_id)


def execution_id(pending: Pending) -> str:
    """Return the id of the next execution of an action; its arguments are fixed from then on."""
    return _joined("execute", pending.action.id, pending.attempt + 1)


def activating_id(state: State, due: Activation) -> str:
    """Return the id of activating a skill, as it was last read, by this cause, after the commands requested so far."""
    read = state.context.seq if state.context is not None else 0
    return _joined("activate", due.cause, read, len(due.calls), _digest(due.skill))


def _view(state: State) -> str:
    """Return a name for the view, which only grows between two rewinds and two counted commands."""
    view = state.branch.view
    return f"{state.ledger.commands + 1}-{view[-1].seq if view else 0}-{state.rewound}"


def _joined(*parts: object) -> str:
    return "-".join(map(str, parts))


def _digest(specs: object) -> str:
    return blake2b(msgspec.json.encode(specs), digest_size=8).hexdigest()
