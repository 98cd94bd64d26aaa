"""A state, stored and recalled."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.events import Event
from agentrt.memo import Memo, memo, recalled
from agentrt.state import State, fold
from tests.histories import histories

pytestmark = pytest.mark.pure


def through_bytes(state: State, events: list[Event]) -> State:
    """What comes back of a state."""
    made = memo(state)
    assert made is not None
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=Memo)
    assert stored == made
    return recalled(stored, [event for event in events if event.seq in stored.events])


@given(histories(), st.data())
def test_a_recalled_state_is_the_same_and_goes_on_the_same(events: list[Event], data: st.DataObject) -> None:
    if not events:
        return
    place = data.draw(st.integers(1, len(events)))
    state = through_bytes(fold(events[:place]), events)
    assert state == fold(events[:place])
    assert fold(events[place:], state) == fold(events)


@given(histories(steps=40))
def test_what_shares_a_view_shares_it_again(events: list[Event]) -> None:
    """Else each checkpoint would cost a history."""
    if not events:
        return
    state = fold(events)
    again = through_bytes(state, events)
    for before, after in zip(state.checkpoints, again.checkpoints, strict=True):
        assert state.branch.view.continues(before.branch.view) == again.branch.view.continues(after.branch.view)


def test_there_is_no_memo_of_nothing() -> None:
    assert memo(State()) is None


@given(histories())
def test_events_that_are_not_the_right_ones_are_refused(events: list[Event]) -> None:
    if events:
        stored = memo(fold(events))
        assert stored is not None
        with pytest.raises(ValueError, match="is not a ConversationCreated"):
            recalled(stored, [])
