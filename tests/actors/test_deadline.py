"""The time that a run may take."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentrt.actors.deadline import Deadline
from agentrt.events import ExecutionStatus
from agentrt.specs import Limits
from agentrt.state import State, fold
from tests import samples
from tests.clock import Time

pytestmark = pytest.mark.simulated


def state(status: ExecutionStatus, seconds: float | None) -> State:
    begun = fold(samples.beginning(samples.agent(limits=Limits(max_seconds=seconds))))
    return replace(begun, status=status)


async def test_it_fires_once_a_run_has_taken_its_time() -> None:
    time, fired = Time(), list[float]()
    deadline = Deadline(fired.append, clock=time.clock, later=time.later)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    await time.pass_by(9.0)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    await time.pass_by(0.5)
    assert fired == []
    await time.pass_by(0.5)
    assert fired == [10.0]


async def test_the_time_in_which_a_person_is_asked_does_not_count() -> None:
    time, fired = Time(), list[float]()
    deadline = Deadline(fired.append, clock=time.clock, later=time.later)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    await time.pass_by(6.0)
    deadline.watch(state(ExecutionStatus.WAITING_FOR_CONFIRMATION, 10.0))
    deadline.watch(state(ExecutionStatus.WAITING_FOR_CONFIRMATION, 10.0))
    await time.pass_by(1000.0)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    await time.pass_by(3.5)
    assert fired == []
    await time.pass_by(0.5)
    assert fired == [10.0]


@pytest.mark.parametrize("status", [ExecutionStatus.FINISHED, ExecutionStatus.PAUSED, ExecutionStatus.ERROR])
async def test_the_next_run_has_all_its_time(status: ExecutionStatus) -> None:
    time, fired = Time(), list[float]()
    deadline = Deadline(fired.append, clock=time.clock, later=time.later)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    await time.pass_by(6.0)
    deadline.watch(state(status, 10.0))
    await time.pass_by(100.0)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    await time.pass_by(9.0)
    assert fired == []
    await time.pass_by(1.0)
    assert fired == [10.0]


async def test_without_a_limit_or_once_closed_it_never_fires() -> None:
    time, fired = Time(), list[float]()
    deadline = Deadline(fired.append, clock=time.clock, later=time.later)
    deadline.watch(state(ExecutionStatus.RUNNING, None))
    assert time.agenda == []
    deadline.watch(state(ExecutionStatus.RUNNING, 1.0))
    deadline.close()
    await time.pass_by(100.0)
    assert fired == []


@pytest.mark.parametrize(("limit", "fires_after"), [(20.0, 14.0), (8.0, 2.0), (3.0, 0.0)])
async def test_a_limit_that_is_changed_meanwhile_counts_from_the_beginning(limit: float, fires_after: float) -> None:
    time, fired = Time(), list[float]()
    deadline = Deadline(fired.append, clock=time.clock, later=time.later)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    await time.pass_by(6.0)
    deadline.watch(state(ExecutionStatus.RUNNING, limit))
    if fires_after:
        await time.pass_by(fires_after - 0.5)
        assert fired == []
    await time.pass_by(0.5)
    assert fired == [limit]
