"""What a conversation has spent, and what it may spend. Pure."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ..events import BudgetReserved, ModelCalled, ModelCallRetried
from ..specs import Limits
from ..usage import Spending, Usage
from .parts import Ledger

A_MISCOUNT = 1e-9
"""The error, in USD, that sums of prices may have."""

LEAST_MEASURE, MOST_MEASURE = 0.25, 4.0
"""The limits of the counted tokens for each estimated token: counts beyond them are not believed."""


def began(ledger: Ledger) -> Ledger:
    """Apply the beginning of a model call or a condensation."""
    return replace(ledger, commands=ledger.commands + 1)


def reserve(ledger: Ledger, event: BudgetReserved) -> Ledger:
    """Apply the reservation of a part of the budget for a call, in place of that for its previous try."""
    return replace(ledger, reserved=ledger.reserved | {event.command: event})


def called(ledger: Ledger, event: ModelCalled) -> Ledger:
    """Apply the end of a model call."""
    return _spent(_released(ledger, event.command), event.usage_id, event.usage, event.cost, event.latency)


def counted(ledger: Ledger, event: ModelCalled, viewed: int) -> Ledger:
    """Apply what a model call of the agent's own says about the model; its view was estimated at `viewed` tokens."""
    known, counted = ledger.counting, event.usage.prompt_tokens
    if event.window:
        known = replace(known, window=event.window)
    if counted and event.error is None and not event.estimated:
        prompts = counted / event.prompt_estimate if event.prompt_estimate else known.prompts
        measure = min(max(counted / viewed, LEAST_MEASURE), MOST_MEASURE) if viewed else known.measure
        known = replace(known, prompts=prompts, measure=measure)
    return ledger if known == ledger.counting else replace(ledger, counting=known)


def retried(ledger: Ledger, event: ModelCallRetried) -> Ledger:
    """Apply a failed try that may have used something."""
    if event.usage == Usage():
        return ledger
    return _spent(_released(ledger, event.command), event.usage_id, event.usage, event.cost, 0.0)


def _released(ledger: Ledger, command: str) -> Ledger:
    if command not in ledger.reserved:
        return ledger
    kept = {name: reserved for name, reserved in ledger.reserved.items() if name != command}
    return replace(ledger, reserved=kept)


def _spent(ledger: Ledger, usage_id: str, usage: Usage, cost: float | None, seconds: float) -> Ledger:
    used = bool(usage.prompt_tokens or usage.completion_tokens)
    spent = Spending(int(used), usage, cost or 0.0, int(used and cost is None), seconds)
    before = ledger.spending.get(usage_id)
    spent = spent if before is None else before + spent
    return replace(ledger, spending=ledger.spending | {usage_id: spent})


class Allowance(msgspec.Struct, frozen=True):
    """What may still be spent; None: no limit."""

    cost: float | None
    tokens: int | None


def fits(reserved: BudgetReserved, left: Allowance) -> bool:
    """Return whether a call may reserve so much of what is left."""
    cost = left.cost is None or reserved.cost <= left.cost + A_MISCOUNT
    return cost and (left.tokens is None or reserved.tokens <= left.tokens)


def allowance(ledger: Ledger, limits: Limits, besides: str = "") -> Allowance:
    """Return what the limits leave of a conversation's budget: without open grants, and without what is reserved for
    other commands than `besides`.
    """
    cost = tokens = None
    held = [reserved for command, reserved in ledger.reserved.items() if command != besides]
    grants = [child.grant for child in ledger.children.values() if child.open]
    spent = ledger.total
    if limits.max_cost is not None:
        taken = sum(reserved.cost for reserved in held) + sum(grant.cost or 0.0 for grant in grants)
        cost = limits.max_cost + ledger.granted - spent.cost - taken
    if limits.max_tokens is not None:
        tokens = limits.max_tokens - spent.usage.total
        tokens -= sum(reserved.tokens for reserved in held) + sum(grant.tokens or 0 for grant in grants)
    return Allowance(cost, tokens)
