"""Trees of conversations that crash at any round of the loop: they never overspend, nothing is done twice, all ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import Limits
from agentrt.events import ModelCallStarted, RunRequested
from agentrt.state import fold
from tests.delegating import TOP
from tests.proofs.delegator import price

from .laws import check_sums, check_work
from .trees import FINISHED, Tree, ended
from .world import World, each_seed

pytestmark = pytest.mark.simulated

WORK = 22
"""Model calls of a tree that does its work: two for the top, two for each of two below it, four for each leaf."""


@pytest.mark.parametrize("count", [30, pytest.param(1_000, marks=pytest.mark.long)])
def test_a_tree_that_crashes_does_its_work(tmp_path: Path, node: str, count: int) -> None:
    async def life(world: World) -> None:
        tree = Tree(world, tmp_path, Limits(max_cost=20, max_tokens=2_000_000, max_steps=500, tool_concurrency=2))
        assert ended(await tree.crash_and_finish()) == FINISHED
        logs = await tree.logs()
        assert len(logs) == 7
        assert sum(isinstance(event, ModelCallStarted) for log in logs.values() for event in log) >= WORK
        check_sums(logs, TOP, tree.sent)
        check_work(logs, tree.counted)

    worlds = each_seed(count, life, node)
    assert len(worlds) == 1 or sum(world.crashes for world in worlds) > len(worlds)


LIMITS = (
    Limits(max_cost=0.3, max_steps=9999, tool_concurrency=2),
    Limits(max_tokens=60_000, max_steps=9999, tool_concurrency=2),
    Limits(max_steps=15, tool_concurrency=2),
)


@pytest.mark.parametrize("count", [20, pytest.param(1_000, marks=pytest.mark.long)])
def test_a_tree_that_crashes_does_not_overspend(tmp_path: Path, node: str, count: int) -> None:
    async def life(world: World) -> None:
        limits = LIMITS[world.seed % len(LIMITS)]
        tree = Tree(world, tmp_path, limits, endless=True)
        said = ended(await tree.crash_and_finish())
        logs = await tree.logs()
        ledger = fold(logs[TOP]).ledger
        if limits.max_cost is not None:
            assert said == "error max_cost"
            assert sum(map(price, tree.sent)) <= limits.max_cost
            assert ledger.cost <= limits.max_cost
        elif limits.max_tokens is not None:
            assert said == "error max_tokens"
            assert sum(tree.sent) <= limits.max_tokens
            assert ledger.usage.total <= limits.max_tokens
        else:
            assert said == "error max_steps"
            runs = sum(isinstance(event, RunRequested) for event in logs[TOP])
            assert limits.max_steps is not None
            assert len(tree.sent) <= limits.max_steps * runs
        check_sums(logs, TOP, tree.sent, reserved=limits.max_cost is not None or limits.max_tokens is not None)

    each_seed(count, life, node)
