from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.events import (
    DIED_REASON,
    Event,
    ExecutionStatus,
    HeadMoved,
    InterruptEvent,
    MessageEvent,
    PauseEvent,
    RunRequested,
)
from agentrt.specs.content import text
from agentrt.state.status import status_after
from agentrt.storage.endings import TAIL, last_of, last_word
from agentrt.storage.framing import frame
from tests import samples

pytestmark = pytest.mark.pure

PAUSED, RUNNING = ExecutionStatus.PAUSED, ExecutionStatus.RUNNING
DIED = PauseEvent(source="environment", reason=DIED_REASON)
STOPPED = PauseEvent(source="environment", reason="the server was stopped")
RUN, PAUSE, STOP, STEER = RunRequested(), PauseEvent(), InterruptEvent(), InterruptEvent(goes_on=True)
SAID = MessageEvent(source="user", content=text("Look at 'PauseEvent', too."))
ANSWER = MessageEvent(source="agent", content=text("A RunRequested is not a PauseEvent."))


def records(*events: Event) -> list[bytes]:
    return frame(samples.numbered(events), durable=0)


def last(*events: Event) -> Event | None:
    """The last word of a log with these events, as it was given."""
    found = last_of(reversed(records(*events)))
    return next((event for event in events if found is not None and event.id == found.id), None)


def test_a_recovery_s_pause_counts_if_something_ran() -> None:
    assert last(RUN, DIED) == DIED
    assert last(RUN, DIED, DIED) == DIED, "the process died while it was recovered, too"
    assert last(RUN, SAID, ANSWER, DIED) == DIED, "a message does not stop a run"
    assert last(RUN, STOP, RUN, DIED) == DIED
    assert last(RUN, STEER, DIED) == DIED
    assert last(DIED) == DIED, "the run began in a part that this log shares with another"


def test_a_recovery_s_pause_does_not_hide_who_stopped_the_run_before() -> None:
    assert last(RUN, PAUSE, DIED) == PAUSE
    assert last(RUN, PAUSE, SAID, DIED, DIED) == PAUSE
    assert last(RUN, STOP, DIED) == STOP
    assert last(RUN, PAUSE, STEER, DIED) == PAUSE, "what steers a run begins none"
    assert last(RUN, STOPPED, DIED) == STOPPED
    assert last(RUN, DIED, PAUSE) == PAUSE


def test_the_last_word_is_that_of_the_outside() -> None:
    assert last() is None
    assert last(ANSWER) is None
    assert last(RUN, ANSWER) == RUN
    assert last(RUN, STOPPED, SAID, ANSWER) == SAID
    assert last(RUN, STEER) == STEER
    assert isinstance(last(RUN, STOPPED, HeadMoved(to=1)), HeadMoved)


@given(st.lists(st.sampled_from([RUN, PAUSE, STOPPED, STOP, STEER, DIED, ANSWER]), max_size=12))
def test_only_what_the_environment_stopped_has_its_word_last(words: list[Event]) -> None:
    """The fold of the status knows which event stopped the run, and each word of a person after that counts."""
    status, stopper, log = ExecutionStatus.IDLE, None, list[Event]()
    for event in words:
        if event in (STOPPED, DIED) and status is not RUNNING and (event is STOPPED or stopper is None):
            continue  # a server pauses only what runs, and a recovery what ran or was still being stopped
        if event is STEER and status is not RUNNING:
            continue
        after = status_after(status, event)
        if after is PAUSED and (status is not PAUSED or event in (PAUSE, STOP)):
            stopper = event
        status = after
        log.append(event)
    if status is PAUSED:
        assert last(*log) == stopper


@pytest.mark.simulated
def test_it_is_found_however_far_back_it_is(tmp_path: Path) -> None:
    much = MessageEvent(source="agent", content=text("y" * TAIL))
    log = [RUN, STOPPED, *[much] * 5, ANSWER]
    (tmp_path / "events.jsonl").write_bytes(b"".join(records(*log)))
    found = last_word(tmp_path)
    assert found is not None
    assert found.id == STOPPED.id


@pytest.mark.simulated
def test_a_log_that_ends_in_the_middle_of_a_record_has_a_last_word(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"".join(records(RUN, PAUSE))[:-9])
    found = last_word(tmp_path)
    assert found is not None
    assert found.id == RUN.id
    assert last_word(tmp_path / "none") is None
