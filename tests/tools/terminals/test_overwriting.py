"""Lines that were written over, in their last state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.tools.terminals.overwriting import last_states
from tests.timing import within


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("10%\r20%\r30%\n", "30%\n"),
        ("10%\r20%\r", "20%"),
        ("one\r\ntwo\r\r\nthree", "one\ntwo\nthree"),
        ("a\rb\nc\rd\n", "b\nd\n"),
        ("50%\r   \rdone\n", "done\n"),
        ("\r\r\r\n\r", "\n"),
        ("wait |\b/\b-\b\\\b", "wait \\"),
        ("N\bNA\bAM\bME\bE _\bx\n", "NAME x\n"),
        ("\b\ba\b\b\bb", "b"),
        ("12\b\b\b\n", "12\n"),
        ("a\b\b\rb", "b"),
        ("a\r\b\b", "a"),
        ("", ""),
    ],
)
def test_last_states(printed: str, shown: str) -> None:
    assert last_states(printed) == shown


@given(st.text(alphabet="ab\r\b\n"))
def test_each_line_stays_one_and_is_final(printed: str) -> None:
    shown = last_states(printed)
    assert shown.count("\n") == printed.count("\n")
    assert "\r" not in shown
    assert "\b" not in shown
    assert last_states(shown) == shown


@given(st.lists(st.text(alphabet="ab \r\b"), max_size=6))
def test_lines_do_not_touch_each_other(lines: list[str]) -> None:
    assert last_states("\n".join(lines)) == "\n".join(map(last_states, lines))


@pytest.mark.parametrize("piece", ["x\r", "x\b", "\r\n", "xx\b\b", "\r", "\b"])
def test_much_takes_time_in_proportion(piece: str) -> None:
    assert within(3, lambda: last_states(piece * 500_000))
