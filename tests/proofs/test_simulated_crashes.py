"""Crashes of a simulated machine at any system call: no acknowledged event is lost, and what is left is a prefix."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from agentrt.specs import Durability
from agentrt.storage import FileStore

from .crashing import World

pytestmark = pytest.mark.simulated

MEMORY = Path("/dev/shm")
"""Where a file system in memory is mounted, as a rule."""

LANES = 8

COMMIT, INTERVAL, NONE = Durability.COMMIT, Durability.INTERVAL, Durability.NONE


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: the disk is simulated, so the real one need not be waited for."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        yield Path(directory)


@pytest.mark.parametrize(("durability", "seeds"), [(COMMIT, 50), (INTERVAL, 20), (NONE, 20)])
async def test_what_a_crash_leaves(root: Path, durability: Durability, seeds: int) -> None:
    """Some worlds side by side, since each waits for the store's threads."""
    rest = iter(range(seeds))

    async def some(store: FileStore) -> None:
        for seed in rest:
            await live(World(store, durability, seed), f"{durability.value}, seed {seed}")

    async with FileStore(root) as store, anyio.create_task_group() as tasks:
        for _ in range(LANES):
            tasks.start_soon(some, store)


@pytest.mark.long
@pytest.mark.parametrize(("durability", "seeds"), [(COMMIT, 10_000), (INTERVAL, 2_000), (NONE, 2_000)])
async def test_what_ten_thousand_crashes_leave(root: Path, durability: Durability, seeds: int) -> None:
    async with FileStore(root) as store:
        for seed in range(1_000, 1_000 + seeds):
            world = World(store, durability, seed, through_store=seed % 20 == 0)
            await live(world, f"{durability.value}, seed {seed}")


async def live(world: World, what: str) -> None:
    """A world that says its seed when it fails."""
    try:
        await world.run()
    except BaseException as error:
        error.add_note(what)
        raise
