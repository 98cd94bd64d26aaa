from __future__ import annotations

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentrt.server.streams.lanes import Lanes, Work

pytestmark = pytest.mark.simulated


async def test_a_lane_is_in_order_and_lanes_are_side_by_side() -> None:
    done, gates = list[str](), {name: anyio.Event() for name in ("a1", "a2", "b1")}

    def work(name: str) -> Work:
        async def wait() -> None:
            await gates[name].wait()
            done.append(name)

        return wait

    async with anyio.create_task_group() as tasks:
        lanes = Lanes(tasks, 8)
        for name in gates:
            await lanes.put(name[0], work(name))
        gates["a2"].set()
        gates["b1"].set()
        await wait_all_tasks_blocked()
        assert done == ["b1"]
        gates["a1"].set()
    assert done == ["b1", "a1", "a2"]


async def test_no_more_is_taken_than_there_is_room_for() -> None:
    gate, taken = anyio.Event(), list[int]()

    async def put(lanes: Lanes) -> None:
        for number in range(5):
            await lanes.put(str(number), gate.wait)
            taken.append(number)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(put, Lanes(tasks, 2))
        await wait_all_tasks_blocked()
        assert taken == [0, 1]
        gate.set()
    assert taken == [0, 1, 2, 3, 4]
