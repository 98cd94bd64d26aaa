"""Objects that are written without git are those that git would write, and survive a crash."""

from __future__ import annotations

import resource
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.workspaces import objects
from agentrt.workspaces.objects import A_DIRECTORY, DIRECTORY, FILE, JOURNAL, PROGRAM, Objects, patched, replay, settle
from agentrt.workspaces.tree_store import TreeStore

pytestmark = pytest.mark.simulated

NAMES = st.sampled_from(["a", "a.b", "a-b", "ab", "grüße", "z"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CHANGES = st.dictionaries(PATHS, st.none() | st.binary(max_size=3), max_size=6)


def store(directory: Path) -> Path:
    (directory / "objects").mkdir(parents=True)
    return directory


def git(directory: Path, *arguments: str, given: bytes = b"") -> str:
    environment = {"GIT_DIR": str(directory), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        ["git", *arguments], env=environment, input=given, capture_output=True, check=True
    ).stdout.decode()


@pytest.mark.real
def test_git_reads_what_was_written(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", str(tmp_path))
    made = Objects(tmp_path)
    blob = made.blob(b"one\n")
    assert blob == git(tmp_path, "hash-object", "--stdin", given=b"one\n").strip()
    inner = made.tree({"x": (FILE, blob)})
    tree = made.tree({"a": (DIRECTORY, inner), "a.b": (FILE, blob), "a0": (PROGRAM, blob), "grüße": (FILE, blob)})
    made.flush()
    git(tmp_path, "fsck", "--strict", "--no-dangling")
    listed = git(tmp_path, "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", tree).split("\n")[:-1]
    assert listed == ["a.b", "a/x", "a0", "grüße"]


@given(st.lists(CHANGES, min_size=1, max_size=4))
def test_a_tree_with_changes_is_the_tree_of_the_files_that_remain(
    tmp_path_factory: pytest.TempPathFactory, steps: list[dict[str, bytes | None]]
) -> None:
    made = Objects(store(tmp_path_factory.mktemp("store")))
    files, tree = dict[str, bytes](), None
    for step in steps:
        for path, data in step.items():
            above = {path[:at] for at in range(len(path)) if path[at] == "/"}
            files = {one: kept for one, kept in files.items() if not (one == path or one.startswith(f"{path}/"))}
            if data is not None:
                files = {one: kept for one, kept in files.items() if one not in above}
                files[path] = data
        step = {path: files.get(path) for path in step}
        changes = {path: None if data is None else (FILE, made.blob(data)) for path, data in step.items()}
        # a change below another is told after it
        tree = patched(made, tree, dict(sorted(changes.items())))
        whole = {path: (FILE, made.blob(data)) for path, data in files.items()}
        assert tree == patched(made, None, whole)


def test_a_directory_takes_the_place_of_a_file_and_stays_where_there_is_one(tmp_path: Path) -> None:
    made = Objects(store(tmp_path))
    one = (FILE, made.blob(b"one"))
    tree = patched(made, None, {"a": one, "b/c": one})
    assert patched(made, tree, {"a": A_DIRECTORY, "b": A_DIRECTORY}) == patched(made, None, {"b/c": one})


def test_what_a_crash_has_lost_is_written_again(tmp_path: Path) -> None:
    made = Objects(store(tmp_path))
    names = [made.blob(b"one"), made.blob(b"two" * 100)]
    made.flush()
    files = [tmp_path / "objects" / name[:2] / name[2:] for name in names]
    kept = [file.read_bytes() for file in files]
    files[0].unlink()
    files[1].chmod(0o600)
    files[1].write_bytes(b"")
    replay(tmp_path)
    assert [file.read_bytes() for file in files] == kept
    settle(tmp_path)
    assert not (tmp_path / JOURNAL).exists()


def test_what_a_crash_has_filled_with_nothing_is_written_again(tmp_path: Path) -> None:
    made = Objects(store(tmp_path))
    name = made.blob(b"one")
    made.flush()
    file = tmp_path / "objects" / name[:2] / name[2:]
    kept = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(bytes(len(kept)))
    replay(tmp_path)
    assert file.read_bytes() == kept


def test_a_journal_that_could_not_be_written_to_its_end_is_as_before(tmp_path: Path) -> None:
    made = Objects(store(tmp_path))
    made.blob(b"one")
    made.flush()
    journal = (tmp_path / JOURNAL).read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(journal) + 10, limits[1]))
    try:
        made.blob(b"two")
        with pytest.raises(OSError, match="File too large"):
            made.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / JOURNAL).read_bytes() == journal
    made.flush()
    assert (tmp_path / JOURNAL).stat().st_size > len(journal)


async def test_a_fork_of_a_fork_has_what_a_crash_has_lost_of_the_first(tmp_path: Path) -> None:
    directories = [str(tmp_path / name) for name in "abc"]
    origins = [(), (directories[0],), (directories[1],)]
    stores = [TreeStore(one, of) for one, of in zip(directories, origins, strict=True)]
    for one in stores:
        await one.prepare(writes=True)
    first = stores[0].objects()
    name = first.blob(b"one")
    first.flush()
    (tmp_path / "a/objects" / name[:2] / name[2:]).unlink()
    again = TreeStore(directories[2], origins[2])
    await again.prepare()
    assert (tmp_path / "a/objects" / name[:2] / name[2:]).exists()


def test_a_damaged_tree_is_told(tmp_path: Path) -> None:
    made = Objects(store(tmp_path))
    tree = made.tree({"a": (FILE, made.blob(b"one"))})
    made.flush()
    file = tmp_path / "objects" / tree[:2] / tree[2:]
    file.chmod(0o600)
    for damage in (b"", b"nothing", zlib.compress(b"tree 3")):
        file.write_bytes(damage)
        with pytest.raises(OSError, match="damaged"):
            made.entries(tree)


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_a_journal_that_was_cut_has_what_came_before(tmp_path: Path, cut: int) -> None:
    made = Objects(store(tmp_path))
    first = made.blob(b"one")
    made.flush()
    whole = (tmp_path / JOURNAL).stat().st_size
    second = made.blob(b"two")
    made.flush()
    journal = (tmp_path / JOURNAL).read_bytes()
    for name in (first, second):
        (tmp_path / "objects" / name[:2] / name[2:]).unlink()
    (tmp_path / JOURNAL).write_bytes(journal[: whole + cut])
    replay(tmp_path)
    assert (tmp_path / "objects" / first[:2] / first[2:]).exists()
    assert not (tmp_path / "objects" / second[:2] / second[2:]).exists()


def test_nothing_is_visible_before_it_is_durable(tmp_path: Path) -> None:
    made = Objects(store(tmp_path))
    name = made.blob(b"one")
    assert not (tmp_path / "objects" / name[:2]).exists()
    made.forget()
    made.flush()
    assert not (tmp_path / JOURNAL).exists()


def test_a_long_journal_is_settled(tmp_path: Path) -> None:
    made = Objects(store(tmp_path))
    name = made.blob(bytes(range(256)) * 16)
    made.flush()
    with (tmp_path / JOURNAL).open("ab") as journal:
        journal.truncate(objects.MOST_UNSYNCED)
    made.blob(b"one more")
    made.flush()
    assert not (tmp_path / JOURNAL).exists()
    assert (tmp_path / "objects" / name[:2] / name[2:]).exists()
