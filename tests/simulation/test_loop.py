"""The virtual loop: waits take no time, threads are waited for, a seed is the same each time."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agentrt import Limits

from .loop import NothingLeft, VirtualLoop, run
from .trees import FLAT, Tree
from .world import World

pytestmark = pytest.mark.simulated


def test_an_hour_passes_at_once() -> None:
    async def program(loop: VirtualLoop) -> float:
        await anyio.sleep(3600)
        return loop.time()

    begun = time.monotonic()
    assert 3600 <= run(program) < 3601
    assert time.monotonic() - begun < 60


def test_time_waits_for_a_thread() -> None:
    released = False

    def work() -> bool:
        return released

    async def program(loop: VirtualLoop) -> bool:
        nonlocal released
        released = True
        with anyio.fail_after(0.001):
            return await anyio.to_thread.run_sync(work)

    assert run(program)


def test_waits_are_in_order() -> None:
    async def program(loop: VirtualLoop) -> list[float]:
        ended = list[float]()

        async def wait(seconds: float) -> None:
            await anyio.sleep(seconds)
            ended.append(seconds)

        async with anyio.create_task_group() as tasks:
            for seconds in (3.0, 1.0, 2.0):
                tasks.start_soon(wait, seconds)
        return ended

    assert run(program) == [1.0, 2.0, 3.0]


def test_a_program_in_which_nothing_happens_any_more_is_told_so() -> None:
    async def program(loop: VirtualLoop) -> None:
        await anyio.Event().wait()

    with pytest.raises(NothingLeft):
        run(program)


def test_a_seed_is_the_same_each_time(tmp_path: Path) -> None:
    async def program(loop: VirtualLoop) -> tuple[object, ...]:
        world = World(5, loop)
        tree = Tree(world, tmp_path, Limits(tool_concurrency=2), below=FLAT)
        await tree.crash_and_finish(100)
        kinds = [[type(event).__name__ for event in log] for log in (await tree.logs()).values()]
        return world.crashes, tree.sent, dict(tree.counted), kinds

    run(program)
    assert run(program) == run(program)
