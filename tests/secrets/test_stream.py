"""`StreamMask` gives together what `Mask` gives at once, however a text is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrt.secrets.mask import HIDDEN, Mask
from agentrt.secrets.stream import StreamMask

from .values import KEY, holding, in_base64, values, wrapped

pytestmark = pytest.mark.pure


def cut(text: str, places: list[int]) -> list[str]:
    """A text in pieces."""
    ends = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


@settings(max_examples=400)
@given(st.data(), st.lists(values, min_size=1, max_size=4), st.lists(st.integers(0, 10_000), max_size=12))
def test_it_gives_the_same_however_it_is_cut(data: st.DataObject, secrets: list[str], places: list[int]) -> None:
    mask, text = Mask(secrets), data.draw(holding(secrets))
    stream = StreamMask(mask)
    shown = [*map(stream.feed, cut(text, places)), stream.flush()]
    assert "".join(shown) == mask.text(text)


@settings(max_examples=150)
@given(st.data(), st.lists(values, min_size=1, max_size=3))
def test_it_gives_the_same_character_by_character(data: st.DataObject, secrets: list[str]) -> None:
    mask, text = Mask(secrets), data.draw(holding(secrets))
    stream = StreamMask(mask)
    assert "".join([*map(stream.feed, text), stream.flush()]) == mask.text(text)


def test_ordinary_text_is_shown_at_once() -> None:
    stream = StreamMask(Mask(["HUNTER2-AND-MORE"]))
    assert stream.feed("It is ready.\n") == "It is ready.\n"
    assert stream.feed("that") == "that"
    assert stream.feed("tooth") + stream.feed("paste") == "toothpaste"


def test_only_what_may_be_a_beginning_is_held_back() -> None:
    stream = StreamMask(Mask(["hunter2-and-more"]))
    assert stream.feed("say hunter") == "say "
    assert stream.feed("2-and") == ""
    assert stream.feed("-less") == "hunter2-and-less"
    assert stream.feed(" hunter2-and-mor") == " "
    assert stream.feed("e!") == HIDDEN + "!"
    assert stream.flush() == ""


def test_what_is_left_at_the_end_is_shown() -> None:
    stream = StreamMask(Mask(["hunter2"]))
    assert stream.feed("hunte") == ""
    assert stream.flush() == "hunte"
    assert stream.feed("r2") == "r2"


def test_it_holds_back_no_more_than_the_longest_form() -> None:
    stream = StreamMask(Mask(["aaaaaaaa"]))
    shown = [stream.feed("a" * 1000) for _ in range(3)]
    assert "".join([*shown, stream.feed("b"), stream.flush()]) == HIDDEN + "b"
    assert shown[0] == HIDDEN


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_long_key_in_base64_is_found_in_pieces(size: int) -> None:
    text = f"before\n{wrapped(in_base64(KEY, b'k'), 76)}\nafter\n"
    stream = StreamMask(Mask([KEY]))
    shown = [stream.feed(text[place : place + size]) for place in range(0, len(text), size)]
    assert "".join([*shown, stream.flush()]) == Mask([KEY]).text(text)


def test_a_new_value_is_masked_from_then_on() -> None:
    stream = StreamMask(Mask(["hunter2"]))
    assert stream.feed("old hunter") == "old "
    stream.mask = stream.mask.adding(["tercel-hunter3"])
    assert stream.feed("2 and tercel-hun") == f"{HIDDEN} and "
    assert stream.feed("ter3.") == HIDDEN + "."
    assert StreamMask(Mask()).feed("as it is") == "as it is"
