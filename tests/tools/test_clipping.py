"""`clip` never exceeds its limit, keeps head and tail, and says truly how much is gone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.tools.clipping import clip

pytestmark = pytest.mark.pure


@given(st.text(max_size=300), st.integers(min_value=0, max_value=300))
def test_never_longer_than_the_limit(text: str, limit: int) -> None:
    assert len(clip(text, limit)) <= limit


@given(st.text(max_size=300), st.integers(min_value=0, max_value=50))
def test_what_fits_is_unchanged(text: str, room: int) -> None:
    assert clip(text, len(text) + room) == text


@given(st.text("abcdefgh\n", min_size=101, max_size=400), st.integers(min_value=60, max_value=100))
def test_keeps_head_and_tail_and_counts_the_rest(text: str, limit: int) -> None:
    match = re.fullmatch(r"(.*)\n\[\.\.\. (\d+) characters left out \.\.\.\]\n(.*)", clip(text, limit), re.DOTALL)
    assert match is not None
    head, gone, tail = match[1], int(match[2]), match[3]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert abs(len(head) - len(tail)) <= 1
    assert len(head) + gone + len(tail) == len(text)


def test_a_limit_too_small_for_the_note_keeps_the_beginning() -> None:
    assert clip("0123456789", 4) == "0123"
    assert clip("0123456789", 0) == ""


def test_uses_the_room_that_it_has() -> None:
    assert len(clip("x" * 50_000, 30_000)) >= 29_995
