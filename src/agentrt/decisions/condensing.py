"""Condensing: whether a view is to be made shorter before the next model call, and why. Pure.

After a condensation the view must have grown by `minimum_progress` before it is condensed again by itself, so that one
that could do little is not made over and over. What a model called too long is never sent again at that length.
"""

from __future__ import annotations

from ..context.condensing import most_tokens
from ..specs import CondensationReason, ObservationMaskingCondenser
from ..specs.condensers import BoundedCondenser, stages
from ..state import State


def condensation_due(state: State) -> CondensationReason | None:
    """Why the view is to be condensed without anybody asking for it now; None where it is short enough."""
    here = state.branch
    if here.refused and _tokens(state) >= here.refused:
        return CondensationReason.REQUEST
    if state.implied:
        return None  # that run was begun by rules that had no such bounds
    for one in stages(state.spec.condenser):
        if _has_too_many(state, one):
            return CondensationReason.EVENTS
        if _is_too_long(state, one):
            return CondensationReason.TOKENS
    return None


def _has_too_many(state: State, one: BoundedCondenser) -> bool:
    if isinstance(one, ObservationMaskingCondenser):
        return False  # which takes no event away
    events, before = len(state.branch.view) + len(state.branch.queued), state.branch.condensed[0]
    return events > one.max_size and events - before >= max(one.minimum_progress * one.max_size, 1)


def _is_too_long(state: State, one: BoundedCondenser) -> bool:
    most = most_tokens(one, state.ledger.counting.window)
    if most is None:
        return False
    measure, before = state.ledger.counting.measure, state.branch.condensed[1]
    tokens = _tokens(state)
    return tokens * measure > most and (tokens - before) * measure >= max(one.minimum_progress * most, 1)


def _tokens(state: State) -> int:
    here = state.branch
    return here.tokens + sum(seen.tokens for seen in here.queued) if here.queued else here.tokens
