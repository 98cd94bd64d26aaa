"""Objects that are made without git are those that git would make."""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.workspaces.object_journal import JOURNAL, ObjectJournal, file_of
from agentrt.workspaces.objects import A_DIRECTORY, FILE, PROGRAM, Objects, patched

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
    journal = ObjectJournal(tmp_path)
    made = Objects(tmp_path, journal=journal)
    blob = made.blob(b"one\n")
    assert blob == git(tmp_path, "hash-object", "--stdin", given=b"one\n").strip()
    tree = patched(made, None, {"grüße": (FILE, blob), "a/x": (FILE, blob), "a.b": (FILE, blob), "a0": (PROGRAM, blob)})
    assert tree is not None
    made.flush()
    journal.write_files()
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
        before = list(files)
        for path, data in step.items():
            above = {path[:at] for at in range(len(path)) if path[at] == "/"}
            files = {one: kept for one, kept in files.items() if not (one == path or one.startswith(f"{path}/"))}
            if data is not None:
                files = {one: kept for one, kept in files.items() if one not in above}
                files[path] = data
        step = {path: files.get(path) for path in (*step, *(one for one in before if one not in files))}
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


def test_a_damaged_tree_is_told(tmp_path: Path) -> None:
    journal = ObjectJournal(store(tmp_path))
    made = Objects(tmp_path, journal=journal)
    tree = patched(made, None, {"a": (FILE, made.blob(b"one"))})
    assert tree is not None
    made.flush()
    journal.write_files()
    file = file_of(tmp_path, tree)
    file.chmod(0o600)
    for damage in (b"", b"nothing", zlib.compress(b"tree 3"), zlib.compress(b"tree 3\0abc")):
        file.write_bytes(damage)
        with pytest.raises(OSError, match="damaged"):
            Objects(tmp_path).directory(tree)


def test_what_was_forgotten_is_nowhere(tmp_path: Path) -> None:
    made = Objects(store(tmp_path))
    made.blob(b"one")
    made.forget()
    made.flush()
    assert not (tmp_path / JOURNAL).exists()
