"""What is made of a report of usage, whatever it is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.llm.counts import Tokens, counted

pytestmark = pytest.mark.pure


class Report(msgspec.Struct):
    prompt: Tokens | None = None
    answer: Tokens = 0


def test_a_report_is_read_though_its_numbers_are_texts() -> None:
    assert counted({"prompt": "3", "answer": 4.0, "more": []}, Report) == Report(3, 4)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["prompt", "answer", "x"]), inner),
)


@given(ANYTHING)
def test_no_report_has_fewer_than_no_tokens_or_fails(reported: Any) -> None:
    found = counted(reported, Report)
    assert found is None or ((found.prompt or 0) >= 0 and found.answer >= 0)
