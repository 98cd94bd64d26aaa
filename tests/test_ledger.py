"""What was spent, by usage id, and with that of children."""

from __future__ import annotations

import pytest

from agentrt.events import BudgetReserved, ChildFinished, ExecutionStatus, ModelCalled, ModelCallRetried
from agentrt.ledger import Ledger, began, called, child_finished, counted, retried
from agentrt.usage import Spending, Usage

pytestmark = pytest.mark.pure


def test_calls_are_summed_by_usage_id() -> None:
    ledger = began(began(Ledger()))
    ledger = called(ledger, ModelCalled(command="a", model="m", usage=Usage(10, 5), cost=0.5, latency=2.0))
    ledger = called(ledger, ModelCalled(command="b", model="n", usage=Usage(1, 1), latency=1.0, usage_id="condenser"))
    ledger = called(ledger, ModelCalled(command="c", model="m", usage=Usage(20, 5), cost=0.25, latency=1.0))
    assert ledger.commands == 2
    assert ledger.spending == {
        "default": Spending(2, Usage(30, 10), 0.75, 0, 3.0),
        "condenser": Spending(1, Usage(1, 1), 0.0, 1, 1.0),
    }
    assert (ledger.cost, ledger.unpriced, ledger.usage.total) == (0.75, 1, 42)


def test_how_far_off_the_estimate_of_a_prompt_was_is_in_the_log() -> None:
    ledger = counted(Ledger(), ModelCalled(command="a", model="m", usage=Usage(150, 5), prompt_estimate=100), 300)
    assert ledger.counting.prompts == 1.5
    assert ledger.counting.measure == 0.5, "tokens for each that the view was estimated at"
    for silent in (
        ModelCalled(command="b", model="m", usage=Usage(7, 5)),
        ModelCalled(command="b", model="m", prompt_estimate=10, error="timeout"),
    ):
        assert counted(ledger, silent, 14) is ledger


def test_a_call_that_failed_before_it_used_anything_is_no_call() -> None:
    ledger = called(Ledger(), ModelCalled(command="a", model="m", latency=0.5, error="unavailable"))
    assert ledger.total == Spending(0, Usage(), 0.0, 0, 0.5)


def test_a_try_that_was_cut_counts_by_its_estimate() -> None:
    tried = ModelCallRetried(
        command="a",
        attempt=1,
        model="m",
        next_model="m",
        code="unavailable",
        detail="cut",
        usage=Usage(50, 5),
        cost=0.25,
    )
    reserved = BudgetReserved(command="a", tokens=900, cost=0.5)
    ledger = retried(Ledger(reserved={"a": reserved}), tried)
    assert (ledger.total, ledger.reserved) == (Spending(1, Usage(50, 5), 0.25), {})
    refused = ModelCallRetried(command="a", attempt=1, model="m", next_model="m", code="rate_limit", detail="wait")
    assert retried(ledger, refused) is ledger


def test_what_children_spent_was_spent_here() -> None:
    ledger = called(Ledger(), ModelCalled(command="a", model="m", usage=Usage(10, 5), cost=0.5))
    spent = {"default": Spending(2, Usage(4, 4), 0.25), "critic": Spending(1, Usage(1, 1), 0.0, 1)}
    child = ChildFinished(child_id="c", status=ExecutionStatus.FINISHED, cost=0.25, spending=spent)
    ledger = child_finished(ledger, child)
    assert ledger.spending["default"] == Spending(3, Usage(14, 9), 0.75)
    assert ledger.spending["critic"] == Spending(1, Usage(1, 1), 0.0, 1)
    old = ChildFinished(child_id="d", status=ExecutionStatus.FINISHED, cost=0.125)
    assert child_finished(ledger, old).cost == 0.875
