"""What the kernel tells of a workspace is all that has changed in it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from agentrt.workspaces.trees import Trees
from agentrt.workspaces.watching import Watch, watch

pytestmark = pytest.mark.simulated

NAMES = ("a", "b", "c")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    (place / "a/b").mkdir(parents=True)
    (place / "a/b/one").write_text("one\n")
    return place


@pytest.fixture
def watched(workspace: Path) -> Iterator[Watch]:
    found = watch(str(workspace), ["apart"])
    assert found is not None
    assert found.changed() is None, "what was there before is not known"
    yield found
    found.close()


def test_what_changes_is_told_once(workspace: Path, watched: Watch) -> None:
    assert watched.is_quiet()
    (workspace / "a/b/one").write_text("two\n")
    (workspace / "new").write_text("")
    (workspace / "apart").mkdir()
    (workspace / "apart/x").write_text("")
    assert not watched.is_quiet()
    assert watched.changed() == frozenset({"a/b/one", "new"})
    assert watched.changed() == frozenset()
    assert watched.is_quiet()


def test_what_is_in_a_new_directory_is_told(workspace: Path, watched: Watch) -> None:
    (workspace / "x/y").mkdir(parents=True)
    (workspace / "x/y/z").write_text("")
    assert watched.changed() == frozenset({"x", "x/y", "x/y/z"})
    (workspace / "x/y/z").write_text("more")
    assert watched.changed() == frozenset({"x/y/z"})


def test_a_directory_that_moves_has_all_of_it_changed(workspace: Path, watched: Watch) -> None:
    (workspace / "a").rename(workspace / "moved")
    assert watched.changed() == frozenset({"a/", "moved", "moved/b", "moved/b/one"})
    (workspace / "moved/b/one").write_text("two\n")
    assert watched.changed() == frozenset({"moved/b/one"})


def test_a_repository_that_comes_needs_another_look(workspace: Path, watched: Watch) -> None:
    (workspace / "a/.git").mkdir()
    assert watched.changed() is None
    (workspace / "a/.git/HEAD").write_text("")
    assert watched.changed() == frozenset()


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_workspace_that_goes_is_not_watched_any_more(workspace: Path, watched: Watch, how: str) -> None:
    if how == "removed":
        shutil.rmtree(workspace)
    else:
        workspace.rename(workspace.with_name("elsewhere"))
    if how == "replaced":
        workspace.mkdir()
    for _ in range(2):
        assert not watched.is_quiet()
        assert watched.changed() is None


def test_many_changes_need_another_look(workspace: Path, watched: Watch) -> None:
    for number in range(6_000):
        (workspace / f"file{number}").write_text("")
    assert watched.changed() is None
    (workspace / "one").write_text("")
    assert watched.changed() == frozenset({"one"})


def test_those_who_look_do_so_for_themselves(workspace: Path, watched: Watch) -> None:
    other = watch(str(workspace), ["apart"])
    assert other is not None
    assert other.changed() is None
    (workspace / "new").write_text("")
    assert watched.changed() == frozenset({"new"})
    assert other.changed() == frozenset({"new"})
    other.close()
    (workspace / "new").write_text("more")
    assert watched.changed() == frozenset({"new"})


def test_what_the_kernel_cannot_tell_of_is_not_watched(tmp_path: Path) -> None:
    assert watch("/proc/self", []) is None


@pytest.mark.real
async def test_a_queue_that_ran_over_is_made_up_for(workspace: Path, tmp_path: Path) -> None:
    """The kernel keeps 16,384 events, and tells no more until they are taken."""
    trees = Trees(str(tmp_path / "trees"), str(workspace))
    await trees.keep()
    for number in range(6_000):
        (workspace / f"a/file{number}").write_text("x")
    (workspace / "new").mkdir()
    for _ in range(3):
        (workspace / "new/file").write_text(os.urandom(4).hex())
        assert (await trees.keep()).tree == tree_by_git(workspace, tmp_path / "git")
    await trees.aclose()


@pytest.mark.real
@pytest.mark.parametrize("how", ["made again", "a link that leads elsewhere"])
async def test_a_workspace_that_becomes_another_is_looked_at(workspace: Path, tmp_path: Path, how: str) -> None:
    """A new directory may have the number of the old one."""
    place = tmp_path / "place"
    place.symlink_to(workspace)
    trees = Trees(str(tmp_path / "trees"), str(place if how != "made again" else workspace))
    before = await trees.keep()
    if how == "made again":
        shutil.rmtree(workspace)
        workspace.mkdir()
        now = workspace
    else:
        now = tmp_path / "other"
        now.mkdir()
        place.unlink()
        place.symlink_to(now)
    for number in range(3):
        (now / "file").write_text(str(number))
        tree = (await trees.keep()).tree
        assert tree != before.tree
        assert [one.name for one in await trees.listing(tree)] == ["file"]
        assert await trees.read(tree, "file") == str(number).encode()
    await trees.aclose()


@pytest.mark.real
async def test_a_file_with_two_names_changes_under_both(workspace: Path, tmp_path: Path) -> None:
    (workspace / "other").hardlink_to(workspace / "a/b/one")
    trees = Trees(str(tmp_path / "trees"), str(workspace))
    await trees.keep()
    (workspace / "a/b/one").write_text("two\n")
    assert await trees.read((await trees.keep()).tree, "other") == b"two\n"
    await trees.aclose()


def test_directories_that_change_places_are_watched(workspace: Path, watched: Watch) -> None:
    (workspace / "c").mkdir()
    (workspace / "c/two").write_text("")
    watched.changed()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.renameat2(-100, bytes(workspace / "a"), -100, bytes(workspace / "c"), 2) == 0  # RENAME_EXCHANGE
    assert watched.changed() is not None
    for path in ("a/two", "c/b/one"):
        (workspace / path).write_text("changed")
        assert watched.changed() == frozenset({path})


def through_a_link(path: Path) -> bool:
    return any(above.is_symlink() for above in (path, *path.parents))


def acts(workspace: Path, chance: Random) -> None:
    """Do something to a file or a directory."""
    path = workspace.joinpath(*chance.choices(NAMES, k=chance.randint(1, 3)))
    match chance.choice(["write", "write", "write", "remove", "move", "link", "mode", "directory"]):
        case "write":
            if not path.is_dir() and not through_a_link(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(str(chance.random()))
        case "remove":
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        case "move":
            target = workspace / chance.choice(NAMES)
            if path.exists() and not target.exists():
                path.rename(target)
        case "link":
            if path.parent.is_dir() and not path.exists() and not path.is_symlink():
                path.symlink_to(chance.choice(NAMES))
        case "mode":
            if path.is_file() and not path.is_symlink():
                path.chmod(chance.choice([0o644, 0o755, 0o600]))
        case _:
            if not through_a_link(path):
                path.mkdir(parents=True, exist_ok=True)


def tree_by_git(workspace: Path, store: Path) -> str:
    """The tree that git makes of a workspace."""
    environment = {"GIT_DIR": str(store), "GIT_WORK_TREE": str(workspace), "PATH": os.defpath}

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], env=environment, capture_output=True, text=True, check=True).stdout

    if not store.exists():
        git("init", "-q")
    git("add", "-A", "--force", ".")
    return git("write-tree").strip()


@pytest.mark.real
@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(n, marks=pytest.mark.long) for n in range(12, 300))])
@pytest.mark.parametrize("small", [True, False])
async def test_a_tree_is_the_one_that_git_makes(workspace: Path, tmp_path: Path, seed: int, small: bool) -> None:
    """Whatever happens between two looks; also for a workspace that git looks at first."""
    chance = Random(seed)
    for number in range(0 if small else 600):
        (workspace / f"file{number}").write_text(str(number))
    trees = Trees(str(tmp_path / "trees"), str(workspace))
    for _ in range(8):
        for _ in range(chance.randint(0, 6)):
            with suppress(OSError):  # a link to itself, or a file where a directory was to be
                acts(workspace, chance)
        assert (await trees.keep()).tree == tree_by_git(workspace, tmp_path / "git")
    await trees.aclose()


def test_files_that_changed_are_told_at_once_and_directories_are_not(workspace: Path, watched: Watch) -> None:
    assert watched.changed_at_once() == frozenset()
    (workspace / "one").write_text("1")
    (workspace / "two").write_text("2")
    (workspace / "two").rename(workspace / "three")
    assert watched.changed_at_once() == frozenset({"one", "two", "three"})
    assert watched.changed_at_once() == frozenset()
    (workspace / "four").write_text("4")
    (workspace / "made").mkdir()
    (workspace / "made/five").write_text("5")
    assert watched.changed_at_once() is None, "a new directory is looked at first, in a thread"
    assert not watched.is_quiet()
    changed = watched.changed()
    assert changed is not None
    assert {"four", "made", "made/five"} <= changed
    (workspace / "made/six").write_text("6")
    assert watched.changed_at_once() == frozenset({"made/six"})
    assert watched.is_quiet()


def test_one_that_hears_of_another_workspace_loses_nothing_of_it(workspace: Path, watched: Watch) -> None:
    """All share one queue: whoever looks hands out what the kernel has told of any."""
    other = workspace.parent / "other"
    other.mkdir()
    second = watch(str(other), ())
    assert second is not None
    try:
        second.changed()
        (workspace / "mine").write_text("1")
        (other / "made").mkdir()
        (other / "theirs").write_text("2")
        assert second.changed_at_once() is None
        assert watched.changed_at_once() is None, "what is told later waits behind the directory"
        assert second.changed() == frozenset({"made", "theirs"})
        assert watched.changed_at_once() == frozenset({"mine"})
    finally:
        second.close()
