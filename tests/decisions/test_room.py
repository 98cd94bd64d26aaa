from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.decisions import CallModel
from agentrt.decisions.commands import AssessRisk, Stop
from agentrt.decisions.room import SLACK, admit, full, within
from agentrt.errors import LimitReached
from agentrt.events import PauseEvent, RunRequested, TitleChanged
from agentrt.specs.quota import Quota
from tests import samples

pytestmark = pytest.mark.pure

BOUND = Quota(events=100, bytes=1000)


@pytest.mark.parametrize(
    ("events", "size", "code"),
    [(99, 999, None), (100, 0, "max_events"), (0, 1000, "max_bytes"), (200, 2000, "max_events")],
)
def test_a_quota_is_used_up(events: int, size: int, code: str | None) -> None:
    reached = full(BOUND, events, size)
    assert (reached and reached[0]) == code


def test_nothing_is_asked_of_a_model_beyond_it() -> None:
    due = (AssessRisk("assess", samples.action(), ("rules",)), CallModel("call-3"))
    assert within(BOUND, 50, 50, due) == due
    kept, stop = within(BOUND, 100, 50, due)
    assert kept is due[0], "what is under way ends as it would"
    assert isinstance(stop, Stop)
    assert stop.code == "max_events"


def test_a_run_does_not_begin_beyond_it_but_can_be_closed() -> None:
    for begun in (samples.message("more"), RunRequested()):
        with pytest.raises(LimitReached, match="100 events, of 100"):
            admit(BOUND, 100, 0, [begun])
    for event in (PauseEvent(), TitleChanged(title="x", source="user")):
        admit(BOUND, 100, 0, [event])
        with pytest.raises(LimitReached) as refused:
            admit(BOUND, 111, 0, [event])
        assert refused.value.limit == "max_events"
    admit(BOUND, 10_000, 10_000, [PauseEvent(source="environment")])


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_without_a_quota_there_is_room(events: int, size: int) -> None:
    due = (CallModel("call-1"),)
    assert within(Quota(), events, size, due) is due
    admit(Quota(), events, size, [RunRequested()])
    assert full(BOUND, events, size, SLACK) is None or full(BOUND, events, size) is not None
