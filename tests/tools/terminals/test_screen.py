"""What a person would see of what a program prints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.secrets import HIDDEN, CurrentMask, Mask
from agentrt.tools.terminals.screen import COLUMNS, KEPT, ROWS, Screen

from ...timing import within

pytestmark = pytest.mark.pure


def screen(*printed: bytes, secret: str = "") -> Screen:
    """A screen after this was printed."""
    mask = Mask([secret]) if secret else Mask(())
    made = Screen(CurrentMask(lambda: mask))
    for data in printed:
        made.feed(data)
    return made


@pytest.mark.parametrize(
    ("printed", "lines"),
    [
        (b"one\r\ntwo", ["one", "two"]),
        (b"one\x1b[5;3Hhere\x1b[1;1HO", ["One", "", "", "", "  here"]),
        (b"gone\x1b[2J\x1b[Hnew", ["new"]),
        (b"\x1b[31mred\x1b[0m \x1b[1mbold\x1b[m", ["red bold"]),
        ("ä日本\r\n└─".encode(), ["ä日本", "└─"]),
        (b"one\r\ntwo\x1b[1A\x1b[2K", ["", "two"]),
        (b"a\x1b[?1049hb\x1b[?2004hc\x1b[>4;2md", ["abcd"]),
        (b"a\x1b[?6nb\x1b[?5;2rc\x1b[?1;2cd", ["abcd"]),
        (b"\x1b]0;title\x07shown", ["shown"]),
    ],
)
def test_what_is_seen(printed: bytes, lines: list[str]) -> None:
    assert screen(printed).lines == lines
    cut = [printed[at : at + 1] for at in range(len(printed))]
    if b"\x1b[?6n" not in printed:
        assert screen(*cut).lines == lines


def test_the_cursor() -> None:
    assert screen(b"").cursor == (1, 1)
    assert screen(b"one\r\ntwo").cursor == (2, 4)


def test_it_scrolls() -> None:
    seen = screen(b"".join(b"%d\r\n" % number for number in range(100)))
    assert seen.lines == [str(number) for number in range(100 - ROWS + 1, 100)]


def test_a_secret_is_not_shown() -> None:
    assert screen(b"token: hunt", b"er2-and-more!", secret="hunter2-and-more").lines == [f"token: {HIDDEN}!"]


def test_a_word_that_goes_on_in_the_next_line_is_whole_somewhere() -> None:
    seen = screen(b"." * (COLUMNS - 5) + b"onetwo")
    assert "onetwo" in seen.wrapped


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_any_bytes_show_something(printed: list[bytes]) -> None:
    seen = screen(*printed)
    assert len(seen.lines) <= ROWS
    assert all(len(line) <= COLUMNS * 8 for line in seen.lines)


@given(st.lists(st.sampled_from([*"\x1b[?>=;12HJKmrLM@Phlcn(B#8DEa\r\n\t\u0301", "99999999", "é", "日"]), max_size=30))
def test_any_sequences_show_something(pieces: list[str]) -> None:
    assert len(screen("".join(pieces).encode()).lines) <= ROWS


@pytest.mark.parametrize("deleted", ["\x1b[P", "\x1b[X", "\r\x1b[1@", "\r日"])
def test_half_of_a_wide_character_may_go(deleted: str) -> None:
    assert "é" in screen(f"a日é\r\x1b[C{deleted}".encode()).wrapped


@pytest.mark.parametrize("piece", ["x", "e" + "\u0301" * 50, "\x1b[31m", "\x1b[?6n", "\x1b]", "\n", "日"])
def test_much_takes_no_long_time(piece: str) -> None:
    data = (piece * (2 * KEPT // len(piece))).encode()
    assert within(4, lambda: screen(data))
