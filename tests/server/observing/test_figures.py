from __future__ import annotations

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.events import ConversationErrorEvent, ModelCalled, ModelCallRetried
from agentrt.server.observing.figures import MODELS, OTHER, QUICK, Distribution, Figures
from agentrt.state import State
from agentrt.usage import Usage
from tests import samples

pytestmark = pytest.mark.pure


@given(st.lists(st.floats(0, 10), max_size=50))
def test_a_distribution_counts_each_value_once(values: list[float]) -> None:
    found = Distribution(QUICK)
    for value in values:
        found.add(value)
    buckets = found.buckets
    assert buckets[-1] == ("+Inf", len(values))
    for bound, count in buckets[:-1]:
        assert count == bisect_right(sorted(values), float(bound))


def test_what_a_model_was_used_for_is_seen_in_the_events() -> None:
    figures = Figures()
    called = ModelCalled(
        command="call-1", model="m", usage=Usage(10, 5), cost=0.5, latency=2.0, time_to_first_token=1.0
    )
    retried = ModelCallRetried(
        command="call-1", attempt=1, model="m", next_model="m", code="rate_limit", detail="", usage=Usage(3, 0)
    )
    failed = ModelCalled(command="call-2", model="m", error="timeout")
    figures.committed([samples.message(), called, retried, failed], State(), 0.001)
    figures.committed([ConversationErrorEvent(code="timeout", detail="")], State(), 0.002)
    used = figures.models["m"]
    assert (used.prompt_tokens, used.completion_tokens, used.cost) == (13, 5, 0.5)
    assert (used.errors, used.retries) == ({"timeout": 1}, {"rate_limit": 1})
    assert (used.latency.sum, used.first_token.sum) == (2.0, 1.0)
    assert (figures.events, figures.appends.buckets[-1][1], figures.errors) == (5, 2, {"timeout": 1})


def test_names_that_users_make_up_do_not_grow_without_end() -> None:
    figures = Figures()
    for number in range(10 * MODELS):
        figures.committed([ModelCalled(command="c", model=f"m{number}", usage=Usage(1, 0))], State(), 0)
    assert len(figures.models) == MODELS + 1
    assert figures.models[OTHER].prompt_tokens == 9 * MODELS
