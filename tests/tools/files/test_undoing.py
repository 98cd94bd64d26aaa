"""Taking back an edit by what the log says of it."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentrt.errors import ToolError
from agentrt.tools.files.undoing import Edit, taken_back
from tests.timing import within

pytestmark = pytest.mark.pure

LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "d"]), max_size=8)


@given(LINES, LINES, LINES, LINES)
def test_an_edit_is_taken_back(above: list[str], old: list[str], new: list[str], below: list[str]) -> None:
    before, after = ("\n".join([*above, *middle, *below]) for middle in (old, new))
    assert taken_back(after, after, Edit("x", True, before, after), "x") == before


@given(LINES, LINES, LINES, LINES, LINES)
def test_what_has_changed_elsewhere_stays_or_it_is_refused(
    above: list[str], old: list[str], new: list[str], below: list[str], more: list[str]
) -> None:
    assume(old != new)
    before, after = ("\n".join([*above, *middle, *below]) for middle in (old, new))
    now = "\n".join([*more, "# more #", after])
    try:
        done = taken_back(now, now, Edit("x", True, before, after), "x")
    except ToolError:
        return
    assert done == "\n".join([*more, "# more #", before])


def test_a_long_edit_in_a_long_file_is_looked_for_in_no_long_time() -> None:
    old, more = "a\nb\n" * 100_000, "a\nb\n" * 50_000
    edit = Edit("x", True, old, f"{old}c\n{more}")
    assert within(10, lambda: _refused(old * 3, edit))


def _refused(now: str, edit: Edit) -> None:
    with pytest.raises(ToolError, match="has changed since that edit"):
        taken_back(now, now, edit, "x")
