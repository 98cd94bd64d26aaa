"""The time that a run may take."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from agentrt.actors.deadline import Deadline
from agentrt.events import ExecutionStatus
from agentrt.specs import Limits
from agentrt.state import State, fold
from tests import samples


def state(status: ExecutionStatus, seconds: float | None) -> State:
    begun = fold(samples.beginning(samples.agent(limits=Limits(max_seconds=seconds))))
    return replace(begun, status=status)


class Clock:
    """The loop's time and timers, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._loop = asyncio.get_running_loop()
        self._now, self.due = 100.0, list[asyncio.TimerHandle]()
        monkeypatch.setattr(self._loop, "time", lambda: self._now)
        monkeypatch.setattr(self._loop, "call_later", self._later)

    def _later(self, delay: float, callback: object, *args: object) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(self._now + delay, callback, args, self._loop)  # type: ignore[arg-type]
        self.due.append(timer)
        return timer

    def pass_by(self, seconds: float) -> None:
        self._now += seconds
        due, self.due = self.due, []
        for timer in due:
            if timer.when() > self._now:
                self.due.append(timer)
            elif not timer.cancelled():
                timer._run()


async def test_it_fires_once_a_run_has_taken_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, fired = Clock(monkeypatch), list[float]()
    deadline = Deadline(fired.append)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    clock.pass_by(9.0)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    clock.pass_by(0.5)
    assert fired == []
    clock.pass_by(0.5)
    assert fired == [10.0]


async def test_the_time_in_which_a_person_is_asked_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, fired = Clock(monkeypatch), list[float]()
    deadline = Deadline(fired.append)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    clock.pass_by(6.0)
    deadline.watch(state(ExecutionStatus.WAITING_FOR_CONFIRMATION, 10.0))
    deadline.watch(state(ExecutionStatus.WAITING_FOR_CONFIRMATION, 10.0))
    clock.pass_by(1000.0)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    clock.pass_by(3.5)
    assert fired == []
    clock.pass_by(0.5)
    assert fired == [10.0]


@pytest.mark.parametrize("status", [ExecutionStatus.FINISHED, ExecutionStatus.PAUSED, ExecutionStatus.ERROR])
async def test_the_next_run_has_all_its_time(monkeypatch: pytest.MonkeyPatch, status: ExecutionStatus) -> None:
    clock, fired = Clock(monkeypatch), list[float]()
    deadline = Deadline(fired.append)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    clock.pass_by(6.0)
    deadline.watch(state(status, 10.0))
    clock.pass_by(100.0)
    deadline.watch(state(ExecutionStatus.RUNNING, 10.0))
    clock.pass_by(9.0)
    assert fired == []
    clock.pass_by(1.0)
    assert fired == [10.0]


async def test_without_a_limit_or_once_closed_it_never_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, fired = Clock(monkeypatch), list[float]()
    deadline = Deadline(fired.append)
    deadline.watch(state(ExecutionStatus.RUNNING, None))
    assert clock.due == []
    deadline.watch(state(ExecutionStatus.RUNNING, 1.0))
    deadline.close()
    clock.pass_by(100.0)
    assert fired == []
