"""People who pause, interrupt, answer and leave at any moment: a tree ends, and what it spent is known."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from agentrt import ExecutionStatus, Limits, PermissionRule, Runtime
from tests.delegating import TOP, interferes
from tests.proofs.evidence import check_numbering, results

from .laws import check_once, check_sums
from .trees import DEEP, FLAT, Tree
from .world import World, each_seed

pytestmark = pytest.mark.simulated

LIMITS = Limits(max_cost=5.0, max_tokens=3_000_000, tool_concurrency=2)
VISITS = 200
RULES = (PermissionRule("ask", "count", "*1", "number"),)


class Person:
    """Somebody who does something at random, until the tree has ended."""

    def __init__(self, world: World, directory: Path) -> None:
        self._world, self._chance = world, world.chance
        self.cuts = world.seed % 3 == 0
        """Whether it interrupts: then not all of the work is done."""
        rules = RULES if world.seed % 2 else ()
        self.tree = Tree(world, directory, LIMITS, below=FLAT if world.seed % 8 else DEEP, rules=rules)

    async def see_to_the_end(self) -> None:
        """Come and go until it has finished."""
        for _ in range(VISITS):
            async with self.tree.runtime() as runtime, await self.tree.conversation(runtime) as conversation:
                await conversation.send_message(self.tree.task, id="the-task")
                while await interferes(conversation, self._chance, cuts=self.cuts, within=0.5):
                    if self.cuts:
                        await _alone(runtime)
                    if conversation.state.status is ExecutionStatus.FINISHED:
                        return
        raise AssertionError("it does not end")


async def _alone(runtime: Runtime) -> None:
    """Wait until all that is open is the top, and what has its place below it: children that were cut have left."""
    while [host.name for host in runtime.hosts if not host.delegated] != [TOP]:
        await anyio.sleep(0.01)


@pytest.mark.parametrize("count", [150, pytest.param(3_000, marks=pytest.mark.long)])
def test_a_tree_ends_whatever_a_person_does(tmp_path: Path, node: str, count: int) -> None:
    async def life(world: World) -> None:
        person = Person(world, tmp_path)
        await person.see_to_the_end()
        logs = await person.tree.logs()
        check_sums(logs, TOP, person.tree.sent, reserved=False)
        for log in logs.values():
            check_numbering(log)
            results(log)
        if not person.cuts:
            check_once(person.tree.counted)

    each_seed(count, life, node)
