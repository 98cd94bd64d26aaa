"""The first tree of a large workspace is made once, and shared by hard links, with the real git."""

from __future__ import annotations

import shutil
from collections.abc import Hashable
from pathlib import Path

import anyio
import pytest

from agentrt.workspaces.bases import PUBLISHED, Bases
from agentrt.workspaces.tree_limits import MANY
from agentrt.workspaces.trees import Trees

pytestmark = pytest.mark.real


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    for at in range(MANY + 10):
        (root / f"d{at % 10}").mkdir(parents=True, exist_ok=True)
        (root / f"d{at % 10}/f{at}").write_text(f"{at}\n")
    (root / "d0/f0").chmod(0o640)
    return root


def packs(store: Path) -> set[int]:
    """The packs of a store, by inode."""
    return {path.stat().st_ino for path in store.glob("objects/pack/*.pack")}


async def test_the_next_conversation_reads_only_what_has_changed_since(tmp_path: Path, workspace: Path) -> None:
    bases, one, other = Bases(), tmp_path / "one", tmp_path / "other"
    first = Trees(str(one), str(workspace), bases=bases)
    before = await first.keep()
    (workspace / "d1/f1").write_text("changed")
    (workspace / "new").write_text("new")
    second = Trees(str(other), str(workspace), bases=bases)
    after = await second.keep()
    assert packs(other) == packs(one)
    found = {change.path: change.status for change in await second.changes(before.tree, after.tree)}
    assert found == {"d1/f1": "M", "new": "A"}
    alone = Trees(str(tmp_path / "alone"), str(workspace))
    assert (await alone.keep()).tree == after.tree
    for trees in (first, second, alone):
        await trees.aclose()


async def test_it_outlives_the_conversation_that_made_it(tmp_path: Path, workspace: Path) -> None:
    bases, one, other = Bases(), tmp_path / "one", tmp_path / "other"
    first = Trees(str(one), str(workspace), bases=bases)
    tree = (await first.keep()).tree
    second = Trees(str(other), str(workspace), bases=bases)
    assert (await second.keep()).tree == tree
    await first.aclose()
    shutil.rmtree(one)
    shutil.rmtree(workspace / "d0")
    (workspace / "d1/f1").write_text("changed")
    await second.restore(tree)
    assert (workspace / "d1/f1").read_text() == "1\n"
    assert (workspace / "d0/f0").stat().st_mode & 0o777 == 0o640
    third = Trees(str(tmp_path / "third"), str(workspace), bases=bases)
    assert (await third.keep()).tree == tree, "made anew, since what was published is gone"
    assert packs(tmp_path / "third") != packs(other)
    await second.aclose()
    await third.aclose()


async def test_those_that_begin_at_once_read_the_files_once(tmp_path: Path, workspace: Path) -> None:
    bases, found = Bases(), set[str]()
    stores = [tmp_path / f"store{at}" for at in range(5)]

    async def keep(store: Path) -> None:
        trees = Trees(str(store), str(workspace), bases=bases)
        found.add((await trees.keep()).tree)
        await trees.aclose()

    async with anyio.create_task_group() as tasks:
        for store in stores:
            tasks.start_soon(keep, store)
    assert len(found) == 1
    assert len(set[int]().union(*map(packs, stores))) == 1


async def test_a_maker_that_is_cut_lets_the_next_one_make_it(tmp_path: Path, workspace: Path) -> None:
    class Slow(Bases):
        """The first one never comes to publish."""

        reached = anyio.Event()

        async def publish(self, workspace: Hashable, store: Path) -> None:
            if not self.reached.is_set():
                self.reached.set()
                await anyio.sleep_forever()
            await super().publish(workspace, store)

    bases = Slow()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Trees(str(tmp_path / "cut"), str(workspace), bases=bases).keep)
        await bases.reached.wait()
        tasks.cancel_scope.cancel()
    trees = Trees(str(tmp_path / "next"), str(workspace), bases=bases)
    assert (await trees.keep()).tree
    assert (tmp_path / "next" / PUBLISHED / "index").exists()
    await trees.aclose()


async def test_a_small_workspace_and_a_fork_publish_nothing(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small/a").write_text("a")
    bases = Bases()
    small = Trees(str(tmp_path / "one"), str(tmp_path / "small"), bases=bases)
    await small.keep()
    assert not (tmp_path / "one" / PUBLISHED).exists()
    origin = Trees(str(tmp_path / "origin"), str(workspace))
    await origin.keep()
    fork = Trees(str(tmp_path / "fork"), str(workspace), [str(tmp_path / "origin")], bases=bases)
    await fork.keep()
    assert not (tmp_path / "fork" / PUBLISHED).exists()
    for trees in (small, origin, fork):
        await trees.aclose()
