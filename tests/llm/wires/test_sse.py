"""Server-sent events, however they are split."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.llm.wires import ServerSentEvents
from agentrt.llm.wires.sse import LONGEST
from tests.timing import within

pytestmark = pytest.mark.pure

ENDS = ("\n", "\r\n", "\r")
WORDS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)
OTHER = st.one_of(
    WORDS.map(lambda word: f": {word}"), st.sampled_from(["event: x", "id: 7", "retry: 3", "dat: x", "x"])
)
EVENTS = st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=5)


def read(pieces: Iterable[bytes], *, end: bool = True) -> list[bytes]:
    events = ServerSentEvents()
    found = [event for piece in pieces for event in events.feed(piece)]
    return [*found, *events.end()] if end else found


def split(stream: bytes, places: Iterable[int]) -> list[bytes]:
    cuts = sorted({0, len(stream), *(place % (len(stream) + 1) for place in places)})
    return [stream[start:end] for start, end in pairwise(cuts)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """A stream, and the events in it."""
    text, wanted = draw(st.sampled_from(["", "\ufeff"])), draw(EVENTS)
    for event in wanted:
        for line in event:
            for other in draw(st.lists(OTHER, max_size=2)):
                text += other + draw(st.sampled_from(ENDS))
            text += f"data:{draw(st.sampled_from([' ', '']) if line[:1] != ' ' else st.just(' '))}{line}"
            text += draw(st.sampled_from(ENDS))
        text += draw(st.sampled_from(ENDS))
        if text.endswith("\r\n") and not text.endswith(("\n\r\n", "\r\r\n")):
            text += "\n"  # a CR and an LF that came together are one end, and an event needs two
    return text.encode(), ["\n".join(event).encode() for event in wanted]


@given(streams(), st.lists(st.integers(0, 10_000), max_size=20))
def test_any_split_gives_the_same_events(stream: tuple[bytes, list[bytes]], places: list[int]) -> None:
    sent, wanted = stream
    assert read([sent]) == wanted
    assert read(split(sent, places)) == wanted
    assert read(sent[place : place + 1] for place in range(len(sent))) == wanted


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_any_bytes_are_read_alike_however_they_are_split(sent: bytes, places: list[int]) -> None:
    assert read(split(sent, places)) == read([sent])


@pytest.mark.parametrize("end", ENDS)
def test_an_event_is_there_as_soon_as_its_empty_line_is(end: str) -> None:
    assert read([f"data: x{end}{end}".encode()], end=False) == [b"x"]


def test_half_a_character_waits_for_the_other_half() -> None:
    sent = "data: é€😀\n\n".encode()
    assert read(sent[place : place + 1] for place in range(len(sent))) == ["é€😀".encode()]


def test_an_event_that_no_empty_line_ended_is_one() -> None:
    assert read([b"data: x\n\ndata: [DONE]"]) == [b"x", b"[DONE]"]


def test_a_long_event_costs_as_its_length() -> None:
    """Each byte is looked at once: in pieces of a kilobyte it is not the square of its length."""
    line = b"data: " + b"x" * (8 << 20) + b"\n\n"
    pieces = [line[place : place + 1024] for place in range(0, len(line), 1024)]
    assert read(pieces) == [line[6:-2]]
    assert within(1.0, lambda: read(pieces))


def test_an_event_without_end_is_given_up() -> None:
    events = ServerSentEvents()
    with pytest.raises(ValueError, match="64 MiB"):
        for _ in range((LONGEST >> 20) + 1):
            assert list(events.feed(b"x" * (1 << 20))) == []


def test_comments_do_not_add_up() -> None:
    events = ServerSentEvents()
    for _ in range((LONGEST >> 20) + 1):
        assert list(events.feed(b": " + b"x" * (1 << 20) + b"\n\n")) == []
