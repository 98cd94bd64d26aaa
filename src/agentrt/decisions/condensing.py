"""Condensing: whether a view must become shorter before the next model call, and why. Pure.

After a condensation the view must grow by `minimum_progress` before it is condensed again on its own, so that a
condensation with little effect is not repeated over and over. A view that a model has rejected as too long is never
sent again at that length.
"""

from __future__ import annotations

from ..context.condensing import enough, loaded, most_tokens, window_known
from ..specs import CondensationReason, ObservationMaskingCondenser
from ..specs.condensers import BoundedCondenser, stages
from ..state import State

FULL = 0.6
"""A share of the token limit. A view above it after a condensation could hardly be made shorter, so it must grow by
half of itself before the next one.
"""


def condensation_due(state: State) -> CondensationReason | None:
    """Return why the view must be condensed now although nobody has requested it; None if it is short enough."""
    here = state.branch
    if here.refused and loaded(state)[1] >= here.refused and here.tokens > enough(state):
        return CondensationReason.REQUEST
    if state.implied:
        return None  # the run began under rules that had no such limits
    for one in stages(state.spec.condenser):
        if _has_too_many(state, one):
            return CondensationReason.EVENTS
        if _is_too_long(state, one):
            return CondensationReason.TOKENS
    return None


def _has_too_many(state: State, one: BoundedCondenser) -> bool:
    if isinstance(one, ObservationMaskingCondenser):
        return False
    events, before = loaded(state)[0], state.branch.condensed[0]
    return events > one.max_size and events - before >= max(one.minimum_progress * one.max_size, 1)


def _is_too_long(state: State, one: BoundedCondenser) -> bool:
    window, measure = window_known(state), state.ledger.counting.measure
    most = most_tokens(one, window)
    tokens, before = loaded(state)[1] * measure, state.branch.condensed[1] * measure
    if most is None or tokens <= most or tokens <= before:
        return False
    grown = max(one.minimum_progress * most, before / 2 if before > FULL * most else 0, 1)
    return tokens - before >= grown or bool(window and tokens > window)
