"""What a command prints comes to a model whole, in whatever pieces it is taken."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.secrets import CurrentMask, Mask
from agentrt.tools.terminals.escapes import Unescaping, without_escapes
from agentrt.tools.terminals.printed import Printed, last_states
from tests.timing import within

pytestmark = pytest.mark.pure

PIECES = st.sampled_from(["hunter2-", "and-more", "grüße 🙂", "\x1b[31m", "0m", "\n", " ", "x", "\x1b]0;t\x07"])


def printed(*values: str) -> Printed:
    mask = Mask(values)
    return Printed(CurrentMask(lambda: mask))


@given(st.lists(PIECES).map("".join), st.lists(st.integers(0, 200)))
def test_pieces_are_the_whole(text: str, places: list[int]) -> None:
    data = text.encode()
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    reader = printed("hunter2-and-more")
    shown = [reader.more(data[start:end], last=False) for start, end in pairwise(ends)]
    whole = "".join([*shown, reader.more(b"", last=True)])
    assert whole == printed("hunter2-and-more").more(data, last=True)
    assert "hunter2-and-more" not in whole
    assert whole == Mask(["hunter2-and-more"]).text(without_escapes(text))


def test_a_bar_that_goes_on_in_the_next_piece_shows_where_it_is() -> None:
    reader = printed()
    assert reader.more(b"10%\r20%", last=False) == "20%"
    assert reader.more(b"\r30%\r40%", last=False) == "40%"
    assert reader.more(b"\r50%\ndone\n", last=True) == "50%\ndone\n"


def test_what_begins_like_an_escape_and_is_none_is_shown_in_the_end() -> None:
    reader = printed()
    assert reader.more(b"text\x1b[3", last=False) == "text"
    assert reader.more(b"", last=True) == "\x1b[3"


def test_an_escape_that_clears_a_line_begins_it_anew() -> None:
    assert without_escapes("10%\x1b[2K\x1b[1G20%\x1b[K") == "10%\r\r20%"
    assert Unescaping().feed("10%\x1b[G20%") == "10%\r20%"


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
