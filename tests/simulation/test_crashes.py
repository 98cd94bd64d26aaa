"""A conversation whose process crashes, is cancelled, or finds the disk full, at any round of the loop."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import ExecutionStatus, Limits
from agentrt.errors import LogFailed
from agentrt.state import fold
from tests.delegating import TOP

from .laws import check_sums, check_work
from .trees import ALONE, FINISHED, FLAT, Tree, ended
from .world import World, each_seed

pytestmark = pytest.mark.simulated

LIMITS = Limits(max_cost=20, tool_concurrency=2)
ROUNDS = 100
"""Of the loop, on average, until something happens: a life without accident has 150."""


@pytest.mark.parametrize("count", [1_100, pytest.param(30_000, marks=pytest.mark.long)])
def test_a_crash_at_any_round_loses_nothing_and_does_nothing_twice(tmp_path: Path, node: str, count: int) -> None:
    crash_each_seed(tmp_path, node, count)


TERMINALS = ("terminal", "count", "terminal")
"""Steps with commands in a terminal, whose programs are in memory."""


@pytest.mark.parametrize("count", [150, pytest.param(5_000, marks=pytest.mark.long)])
def test_a_command_in_a_terminal_runs_once_whenever_the_process_crashes(tmp_path: Path, node: str, count: int) -> None:
    crash_each_seed(tmp_path, node, count, steps=TERMINALS)


def crash_each_seed(tmp_path: Path, node: str, count: int, **given: Any) -> None:
    """Crash a conversation as each seed says, and check its log once it has finished."""

    async def life(world: World) -> None:
        tree = Tree(world, tmp_path, LIMITS, below=ALONE, **given)
        assert ended(await tree.crash_and_finish(ROUNDS)) == FINISHED
        logs = await tree.logs()
        check_sums(logs, TOP, tree.sent)
        check_work(logs, tree.counted)

    worlds = each_seed(count, life, node)
    assert len(worlds) == 1 or sum(world.crashes for world in worlds) > len(worlds) / 2


@pytest.mark.parametrize("count", [400, pytest.param(8_000, marks=pytest.mark.long)])
def test_a_cancellation_at_any_round_is_quick_and_quiet(
    tmp_path: Path, node: str, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever stops a program waits for nothing, reads of no error, and can go on."""

    async def life(world: World) -> None:
        below = FLAT if world.seed % 4 == 0 else ALONE
        tree = Tree(world, tmp_path, LIMITS, below=below)
        begun = world.loop.time()
        if await world.cancel(tree.run, ROUNDS) is None:
            assert world.loop.time() - begun < QUICK
            assert all(fold(log).status is not ExecutionStatus.RUNNING for log in (await tree.logs()).values())
        assert ended(await tree.run()) == FINISHED
        logs = await tree.logs()
        if below is ALONE:  # what was granted to a child whose end nobody saw counts as spent
            check_sums(logs, TOP, tree.sent, reserved=False)  # an answer that nobody waits for is not made
        check_work(logs, tree.counted, cancelled=True)
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []

    each_seed(count, life, node)


QUICK = 3.0
"""Seconds of a life and its end; a part that does not end is given up after five."""


@pytest.mark.parametrize("count", [200, pytest.param(5_000, marks=pytest.mark.long)])
def test_a_disk_that_is_full_for_a_while_loses_nothing(tmp_path: Path, node: str, count: int) -> None:
    async def life(world: World) -> None:
        tree = Tree(world, tmp_path, LIMITS, below=ALONE)

        async def fill() -> None:
            await anyio.sleep(world.chance.uniform(0.0, 0.4))
            world.storage.disk.full = True
            await anyio.sleep(world.chance.choice((0.0, 0.05, 0.5)))
            world.storage.disk.full = False

        async with tree.runtime() as runtime, anyio.create_task_group() as tasks:
            tasks.start_soon(fill)
            for _ in range(20):
                try:
                    async with await tree.conversation(runtime) as conversation:
                        await conversation.send_message(tree.task, id="the-task")
                        state = await conversation.run()
                        if state.status is ExecutionStatus.FINISHED:
                            break
                except LogFailed:
                    pass
                await anyio.sleep(0.1)
            else:
                raise AssertionError("it does not end though there is space")
        logs = await tree.logs()
        check_sums(logs, TOP, tree.sent)
        check_work(logs, tree.counted)

    each_seed(count, life, node)
