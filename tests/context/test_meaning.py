"""Pieces of texts, and which vectors are the nearest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.context.meaning import LONGEST, Piece, nearest, packed, pieces_of
from agentrt.events import Event
from tests.samples import message, numbered

pytestmark = pytest.mark.pure

WORDS = st.text(st.sampled_from("ab \n"), max_size=3 * LONGEST)
VECTORS = st.lists(st.floats(-1, 1), min_size=3, max_size=3).filter(lambda one: max(map(abs, one)) > 0.5)


def said(*texts: str) -> list[Event]:
    return numbered([message(one) for one in texts])


@given(WORDS)
def test_a_text_is_in_pieces_that_every_model_takes_and_nothing_is_lost(words: str) -> None:
    pieces = pieces_of(said(words), 1000)
    assert all(0 < len(piece.text) <= LONGEST for piece in pieces)
    assert "".join("".join(piece.text.split()) for piece in pieces) == "".join(words.split())


def test_they_are_of_the_first_events_without_secrets_and_no_more_than_asked_for() -> None:
    pieces = pieces_of(said("a b", "word " * LONGEST, "c"), 3, lambda one: one.replace("b", "*"), "earlier")
    assert pieces[0] == Piece(1, "user", "a *", "earlier")
    assert [piece.seq for piece in pieces] == [1, 2, 2]
    assert pieces[1].text.endswith("word")


def test_a_piece_is_known_by_its_text_alone() -> None:
    assert Piece(1, "user", "a").key == Piece(2, "agent", "a", "other").key != Piece(1, "user", "b").key


@given(VECTORS, st.floats(0.01, 100))
def test_only_the_direction_of_a_vector_counts(vector: list[float], scale: float) -> None:
    opposite = [-number for number in vector]
    longer = [number * scale for number in vector]
    assert nearest(packed(vector), [packed(opposite), packed(longer)], 2) == [1, 0]


def test_vectors_of_another_length_or_of_none_are_left_out() -> None:
    assert nearest(packed([1, 0]), [packed([1, 0, 0]), packed([0, 0]), packed([1, 1]), packed([1, 0.1])], 1) == [3]
    assert nearest(packed([1, 0]), [packed([0, 0]), packed([1, 1]), packed([1, 0.1])], 9) == [2, 1]
