"""Drafts and places in them, without a clock."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.deltas import KEPT, Delta, Draft, Reader

pytestmark = pytest.mark.pure


def draft(*pieces: str) -> Draft:
    made = Draft("e1", "text", "call-1")
    for piece in pieces:
        made.add(piece, 7)
    return made


def reader(*drafts: Draft) -> Reader:
    made = Reader()
    made.places = dict.fromkeys(drafts, 0)
    return made


def test_a_delta_names_its_event_and_its_places() -> None:
    growing = draft("Hello", ", ")
    assert growing.since(0) == Delta("e1", "text", "Hello, ", 0, 7)
    growing.add("you", 9)
    assert growing.since(3) == Delta("e1", "text", "lo, you", 3, 9)
    assert growing.since(growing.end).text == ""


@given(st.lists(st.text(max_size=40)), st.data())
def test_what_is_since_a_place_is_the_rest(pieces: list[str], data: st.DataObject) -> None:
    whole = "".join(pieces)
    place = data.draw(st.integers(0, len(whole)))
    rest = draft(*pieces).since(place)
    assert (rest.start, rest.text) == (place, whole[place:])


@given(st.lists(st.tuples(st.integers(0, KEPT), st.booleans()), max_size=8))
def test_only_the_end_of_much_is_kept_and_it_says_what_was_skipped(sizes: list[tuple[int, bool]]) -> None:
    growing, whole, place = draft(), "", 0
    for number, (size, read) in enumerate(sizes):
        piece = chr(97 + number) * size
        growing.add(piece, 7)
        whole += piece
        if read:
            rest = growing.since(place)
            assert rest.start == max(place, len(whole) - KEPT)
            assert rest.text == whole[rest.start :]
            place = growing.end


def test_half_a_character_waits_for_its_other_half() -> None:
    growing = draft("é\ud83d")
    assert growing.since(0).text == "é"
    growing.add("\ude00!", 7)
    assert (growing.since(1).text, growing.end) == ("😀!", 3)


def test_half_a_character_alone_is_one_that_can_be_sent() -> None:
    growing = draft("é\ud83d")
    assert growing.end == 1
    for piece in ("a", "\ude00", "b"):
        growing.add(piece, 7)
    assert growing.since(0).text == "é\ufffda\ufffdb"


def test_what_is_hidden_is_hidden_of_all_that_came_since_the_last_look() -> None:
    asked = list[str]()

    def hide(text: str) -> str:
        asked.append(text)
        return text.replace("key", "*")

    growing = Draft("e1", "text", "c", hide=hide)
    for piece in ("a k", "ey", " b"):
        growing.add(piece, 1)
    assert asked == []
    assert (growing.since(0).text, growing.end) == ("a * b", 5)
    growing.add(" key", 2)
    assert growing.since(5) == Delta("e1", "text", " *", 5, 2)
    assert asked == ["a key b", " key"]


def test_a_draft_that_nobody_reads_takes_little_memory() -> None:
    growing = draft()
    tracemalloc.start()
    try:
        for number in range(20_000):
            growing.add(f"{number:08} ", 7)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert growing.end == 180_000
    assert held < 4 * KEPT


def test_a_reader_takes_turns_between_what_grows() -> None:
    one, two = draft("a"), draft("b")
    both = reader(one, two)
    read = []
    for _ in range(3):
        delta = both.read()
        assert delta is not None
        read.append(delta.text)
        one.add("a", 7)  # one never ends to have news
    assert read == ["a", "b", "aa"]


def test_a_reader_gets_each_character_once() -> None:
    growing = draft("some ")
    alone = reader(growing)
    assert alone.read() == Delta("e1", "text", "some ", 0, 7)
    assert alone.read() is None
    growing.add("words ", 7)
    growing.add("more", 8)
    assert alone.read() == Delta("e1", "text", "words more", 5, 8)
    assert alone.read() is None
