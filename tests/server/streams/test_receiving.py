from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.controls import Pause
from agentrt.frames import Alive, Do, Follow, Refused
from agentrt.server.streams.receiving import MOST, frames_of

pytestmark = pytest.mark.pure


def test_good_frames_are_given_and_bad_ones_answered_under_their_id() -> None:
    good = Do(id="7", conversation="c", control=Pause())
    bad = {"type": "do", "id": "8", "conversation": "c", "control": {"type": "pause", "why": "there is no such field"}}
    found = list(frames_of(msgspec.json.encode([good, bad, Alive()])))
    assert found[0] == good
    assert found[2] == Alive()
    assert isinstance(found[1], Refused)
    assert (found[1].id, found[1].problem.code) == ("8", "frame")


def test_a_message_is_an_array_of_frames_and_not_of_too_many() -> None:
    for message in ('{"type":"alive"}', "[", b"\xff\xfe", "", "null", msgspec.json.encode([Alive()] * (MOST + 1))):
        (found,) = frames_of(message)
        assert isinstance(found, Refused)
    assert list(frames_of(msgspec.json.encode([Follow(conversation="c")] * MOST))) == [Follow(conversation="c")] * MOST


@given(st.one_of(st.text(), st.binary()))
def test_whatever_comes_is_answered(message: str | bytes) -> None:
    assert all(isinstance(found, Refused) for found in frames_of(message))


@pytest.mark.parametrize(
    "message", ["[" * 100_000, '[{"type":' + "[" * 100_000, "[" + "[" * 50_000 + "]" * 50_000 + "]"]
)
def test_what_is_nested_too_deep_is_a_problem_and_no_failure(message: str) -> None:
    (answer,) = frames_of(message)
    assert isinstance(answer, Refused)
    assert answer.problem.code == "frame"
