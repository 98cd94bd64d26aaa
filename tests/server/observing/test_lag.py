from __future__ import annotations

import time

import anyio
import pytest

from agentrt.server.observing.lag import measure

pytestmark = pytest.mark.simulated


async def test_a_loop_that_was_held_was_late() -> None:
    told: list[float] = []
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(measure, told.append, 0.001)
            while len(told) < 3:
                await anyio.lowlevel.checkpoint()
            time.sleep(0.05)
            while max(told) < 0.04:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert min(told) >= 0
