from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentrt.scratch import RuntimeDirectory, ownerless, remove_tree

pytestmark = pytest.mark.simulated

OTHER = """
import sys
from agentrt.scratch import runtime_directory
print(runtime_directory.directory("shell-"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files, here and in the processes that a test starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def owner() -> tuple[subprocess.Popen[str], Path]:
    """A process with a runtime directory, and a directory in it."""
    other = subprocess.Popen([sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    return other, Path(other.stdout.readline().strip())


def test_it_is_there_as_long_as_it_is_held_or_has_any_files(root: Path) -> None:
    ours = RuntimeDirectory(root)
    assert list(root.iterdir()) == []
    ours.hold()
    first, second = ours.directory("shell-"), ours.directory("shell-")
    ours.release()
    assert Path(first).parent == Path(second).parent == Path(ours.path)
    assert Path(first).stat().st_mode & 0o777 == Path(ours.path).stat().st_mode & 0o777 == 0o700
    ours.remove(first)
    ours.remove(first)
    assert Path(second).is_dir()
    ours.remove(second)
    assert list(root.iterdir()) == []


def test_what_something_else_removed_is_made_again(root: Path) -> None:
    ours = RuntimeDirectory(root)
    ours.hold()
    os.rmdir(ours.path)
    made = ours.directory("git-")
    assert Path(made).is_dir()
    assert list(ownerless(root)) == []
    ours.remove(made)
    ours.release()
    assert list(root.iterdir()) == []


@pytest.mark.real
def test_only_a_dead_owner_s_files_are_ownerless(root: Path) -> None:
    alive, kept = owner()
    dead, left = owner()
    try:
        dead.kill()
        dead.wait()
        (found,) = ownerless(root)
        assert found.name == left.parent.name.rpartition("-")[2]
        assert list(ownerless(root)) == [], "one process at a time looks after it"
        found.close()
        (found,) = ownerless(root)
        found.remove()
        found.close()
        assert not left.exists()
        assert kept.is_dir()
    finally:
        for process in (alive, dead):
            process.kill()
            process.communicate()


def test_what_is_being_made_and_what_is_no_directory_is_left_alone(root: Path) -> None:
    (root / ".agentrt-run-new").mkdir()
    old = root / ".agentrt-run-old"
    old.mkdir()
    os.utime(old, (time.time() - 3600,) * 2)
    (root / "agentrt-run-file").write_text("")
    (root / "elsewhere").mkdir()
    (root / "agentrt-run-link").symlink_to(root / "elsewhere")
    found = list(ownerless(root))
    for one in found:
        one.remove()
        one.close()
    assert len(found) == 1
    assert {path.name for path in root.iterdir()} == {
        ".agentrt-run-new",
        "agentrt-run-file",
        "agentrt-run-link",
        "elsewhere",
    }


def test_a_directory_that_ends_with_the_name_of_a_living_owner_stands_for_nobody(root: Path) -> None:
    ours = RuntimeDirectory(root)
    ours.hold()
    for forged in (f"agentrt-run-x-{ours.name}", f".agentrt-run-{ours.name}"):
        (root / forged).mkdir()
        os.utime(root / forged, (0, 0))
    left = list(ownerless(root))
    assert [one.name for one in left] == ["", ""]
    for one in left:
        one.close()
    ours.release()


def test_threads_that_use_it_first_share_one_directory(root: Path) -> None:
    for _ in range(20):
        ours = RuntimeDirectory(root)
        with ThreadPoolExecutor(6) as threads:
            made = list(threads.map(lambda _: ours.directory("shell-"), range(6)))  # noqa: B023
        assert len({Path(path).parent for path in made}) == 1
        for path in made:
            ours.remove(path)
    assert list(root.iterdir()) == []


def test_what_is_deeper_than_a_stack_is_removed(tmp_path: Path) -> None:
    """Programs in a box may make anything in what is theirs."""
    top = tmp_path / "top"
    top.mkdir()
    with pushed(top):
        for _ in range(4_000):
            os.mkdir("d")
            os.chdir("d")
        Path("file").touch()
    remove_tree(top)
    assert not top.exists()
    remove_tree(top)


@contextmanager
def pushed(directory: Path) -> Iterator[None]:
    """Be in a directory."""
    before = os.getcwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)
