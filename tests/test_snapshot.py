"""Snapshots of states."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from agentrt.events import Event, ExecutionStatus
from agentrt.snapshot import Snapshot, differences, snapshot
from agentrt.state import State, fold
from tests import samples
from tests.histories import histories

pytestmark = pytest.mark.pure


@given(histories())
def test_a_fold_gives_its_snapshot_again(events: list[Event]) -> None:
    """Also after it was written and read."""
    stored = msgspec.json.decode(msgspec.json.encode(snapshot(fold(events))), type=Snapshot)
    assert differences(stored, snapshot(fold(events))) == []
    assert stored.seq == len(events)


def test_it_names_what_a_person_asks_for() -> None:
    asked = samples.action(id="a1")
    state = fold(samples.numbered([*samples.beginning(), asked]))
    assert snapshot(state) == Snapshot(seq=3, pending=("a1",), view=(2, 3))
    assert snapshot(State()) == Snapshot(seq=0)


def test_each_difference_is_a_line() -> None:
    stored = Snapshot(seq=9, status=ExecutionStatus.FINISHED, cost=0.5, view=(2, 3, 5))
    found = differences(stored, replace(stored, status=ExecutionStatus.IDLE, cost=0.25, view=(2, 4, 5, 6)))
    assert found == [
        'status: stored "finished", recomputed "idle"',
        "cost: stored 0.5, recomputed 0.25",
        "view: 3 stored, 4 recomputed; the first that differs is number 2: 3, 4",
    ]
    (shorter,) = differences(stored, replace(stored, view=(2, 3)))
    assert shorter.endswith("number 3: 5, nothing")
