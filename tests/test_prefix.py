"""The length of a common prefix, by its law."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.prefix import common_prefix

pytestmark = pytest.mark.simulated

TEXTS = st.text(alphabet="ab", max_size=8)


@given(TEXTS, TEXTS, TEXTS)
def test_it_is_the_longest_that_both_begin_with(start: str, one: str, other: str) -> None:
    one, other = start + one, start + other
    length = common_prefix(one, other)
    assert one[:length] == other[:length]
    assert length >= len(start)
    assert length in (len(one), len(other)) or one[length] != other[length]
    assert common_prefix(list(one), list(other)) == length
