"""`Ledger`: the half of a state that never goes back: what was spent, reserved and granted. Pure."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from .events import BudgetReserved, ChildFinished, ModelCalled, ModelCallRetried
from .specs import Limits
from .usage import Spending, Usage, total


class Ledger(msgspec.Struct, frozen=True, gc=False):
    """What was begun and spent, whatever was rewound since."""

    commands: int = 0
    """Model calls and condensations begun, ever."""
    spending: dict[str, Spending] = {}
    """By usage id; what children spent is in it."""
    reserved: BudgetReserved | None = None
    """Of the model call in flight."""
    granted: float = 0.0
    """USD on top of the limit."""
    message_ids: frozenset[str] = frozenset()

    @property
    def total(self) -> Spending:
        """All that was spent."""
        return total(self.spending.values())

    @property
    def usage(self) -> Usage:
        """The tokens of all calls."""
        return self.total.usage

    @property
    def cost(self) -> float:
        """In USD, of the calls whose price is known."""
        return self.total.cost

    @property
    def unpriced(self) -> int:
        """Model calls whose price nobody knows."""
        return self.total.unpriced


def began(ledger: Ledger) -> Ledger:
    """After a model call or a condensation was begun."""
    return replace(ledger, commands=ledger.commands + 1)


def called(ledger: Ledger, event: ModelCalled) -> Ledger:
    """After a model call."""
    return _spent(ledger, event.usage_id, event.usage, event.cost, event.latency)


def retried(ledger: Ledger, event: ModelCallRetried) -> Ledger:
    """After a try that failed, and may have used something."""
    return _spent(ledger, event.usage_id, event.usage, event.cost, 0.0) if event.usage != Usage() else ledger


def _spent(ledger: Ledger, usage_id: str, usage: Usage, cost: float | None, seconds: float) -> Ledger:
    used = bool(usage.prompt_tokens or usage.completion_tokens)
    spent = Spending(int(used), usage, cost or 0.0, int(used and cost is None), seconds)
    before = ledger.spending.get(usage_id)
    spent = spent if before is None else before + spent
    return replace(ledger, spending=ledger.spending | {usage_id: spent}, reserved=None)


def child_finished(ledger: Ledger, event: ChildFinished) -> Ledger:
    """After a conversation that was delegated to has ended: what it spent was spent here."""
    spending = dict(ledger.spending)
    for usage_id, spent in (event.spending or {"child": Spending(cost=event.cost)}).items():
        spending[usage_id] = spending.get(usage_id, Spending()) + spent
    return replace(ledger, spending=spending)


class Allowance(msgspec.Struct, frozen=True):
    """What may still be spent; None where there is no limit."""

    cost: float | None
    tokens: int | None


def allowance(ledger: Ledger, limits: Limits) -> Allowance:
    """What the limits leave of a conversation's budget."""
    spent = ledger.total
    return Allowance(
        cost=None if limits.max_cost is None else limits.max_cost + ledger.granted - spent.cost,
        tokens=None if limits.max_tokens is None else limits.max_tokens - spent.usage.total,
    )
