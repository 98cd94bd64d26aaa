"""What a call may cost, and what it did cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.context.budget import (
    ANSWER_TOKENS,
    LEAST_ANSWER,
    TOKENS_A_MESSAGE,
    afford,
    cost,
    estimated_tokens,
)
from agentrt.context.messages import Message, ToolCall
from agentrt.errors import BudgetExceeded
from agentrt.ledger import Allowance, Ledger, allowance
from agentrt.specs import Capabilities, ImageContent, Limits
from agentrt.specs.content import text
from agentrt.specs.tokens import IMAGE_TOKENS
from agentrt.usage import Spending, Usage
from tests import samples

pytestmark = pytest.mark.pure

PRICED = Capabilities(input_cost=1e-6, output_cost=4e-6, cache_read_cost=1e-7, cache_write_cost=2e-6)


def test_a_prompt_counts_for_a_token_in_two_bytes_and_more_for_images() -> None:
    said = Message("user", (*text("x" * 300), ImageContent("https://e.org/a.png")))
    called = Message("assistant", (), (ToolCall("1", "look", "y" * 296),))
    tools = (samples.definition("look"),)
    of_tools = estimated_tokens([], tools)
    assert of_tools > 0
    assert estimated_tokens([said, called], tools) == pytest.approx(
        300 + 3 * TOKENS_A_MESSAGE + IMAGE_TOKENS + of_tools, abs=1
    )


def test_without_limits_an_answer_is_as_long_as_it_may_be() -> None:
    may = afford(Allowance(None, None), Limits(), 100, None, Capabilities())
    assert (may.answer, may.tokens, may.cost) == (ANSWER_TOKENS, ANSWER_TOKENS + 100, 0.0)
    assert afford(Allowance(None, None), Limits(), 100, 500, PRICED).answer == 500


def test_an_answer_is_kept_as_short_as_the_budget_asks_for() -> None:
    limits = Limits(max_cost=0.01, max_tokens=5000)
    assert afford(Allowance(None, 5000), limits, 1000, None, PRICED).answer == 4000
    may = afford(Allowance(0.01, None), limits, 1000, None, PRICED)
    assert may.answer == int((0.01 - 1000 * 2e-6) / 4e-6)
    assert may.cost <= 0.01


@pytest.mark.parametrize(
    ("left", "prompt", "known", "said"),
    [
        (Allowance(None, 1500), 1000, PRICED, "raise Limits.max_tokens"),
        (Allowance(0.005, None), 1000, PRICED, r"\$0\.0050 of the budget is left.*conversation\.grant"),
        (Allowance(0.0001, None), 1000, Capabilities(input_cost=1e-6, output_cost=0.0), "grant"),
        (Allowance(1.0, None), 10, Capabilities(), "the price of this model is unknown"),
    ],
)
def test_what_cannot_be_afforded_says_what_to_do(left: Allowance, prompt: int, known: Capabilities, said: str) -> None:
    with pytest.raises(BudgetExceeded, match=said) as raised:
        afford(left, Limits(max_cost=1.0, max_tokens=2000), prompt, None, known)
    assert raised.value.code == ("max_tokens" if left.cost is None else "max_cost")
    assert not raised.value.retryable


@given(
    st.floats(0, 10),
    st.integers(0, 10_000_000),
    st.integers(0, 300_000),
    st.one_of(st.none(), st.integers(1, 200_000)),
    st.floats(0, 1e-4),
    st.floats(0, 1e-4),
)
def test_no_call_is_let_through_that_could_use_more_than_is_left(
    money: float, tokens: int, prompt: int, wanted: int | None, dear_in: float, dear_out: float
) -> None:
    known = Capabilities(input_cost=dear_in, output_cost=dear_out)
    limits = Limits(max_cost=money, max_tokens=tokens)
    try:
        may = afford(Allowance(money, tokens), limits, prompt, wanted, known)
    except BudgetExceeded:
        return
    assert may.tokens <= tokens
    assert may.cost <= money * (1 + 1e-9) + 1e-12
    assert may.answer >= min(LEAST_ANSWER, wanted or ANSWER_TOKENS)


def test_cached_tokens_have_prices_of_their_own() -> None:
    used = Usage(prompt_tokens=1000, completion_tokens=10, cache_read_tokens=600, cache_write_tokens=100)
    assert cost(used, PRICED) == pytest.approx(300 * 1e-6 + 600 * 1e-7 + 100 * 2e-6 + 10 * 4e-6)
    assert cost(used, Capabilities(input_cost=1e-6, output_cost=4e-6)) == pytest.approx(1000 * 1e-6 + 40e-6)
    assert cost(used, Capabilities(input_cost=1e-6)) is None


def test_an_allowance_is_what_limits_and_grants_leave() -> None:
    ledger = Ledger(spending={"a": Spending(1, Usage(100, 20), 0.5), "b": Spending(1, Usage(1, 2), 0.25)}, granted=1.0)
    assert allowance(ledger, Limits(max_cost=2.0, max_tokens=1000)) == Allowance(2.25, 877)
    assert allowance(ledger, Limits()) == Allowance(None, None)
