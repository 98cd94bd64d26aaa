from __future__ import annotations

import os
import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.errors import WorkspaceError
from agentrt.sandboxes.beneath import Beneath, parts_of

pytestmark = pytest.mark.simulated

SECRET = b"of nobody's business"

PIECES = st.sampled_from(["..", ".", "", "a", "b", "file", "loop", "up", "out", "in", "abs", "\0", "é", "x" * 256, "~"])


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with links of all kinds, and a secret beside it."""
    top = tmp_path_factory.mktemp("beneath")
    root = top / "root"
    (root / "a" / "b").mkdir(parents=True)
    (top / "file").write_bytes(SECRET)
    for where in (root, root / "a", root / "a" / "b"):
        (where / "file").write_bytes(b"fine")
        (where / "loop").symlink_to("loop")
        (where / "up").symlink_to("..")
        (where / "out").symlink_to("../../../file")
        (where / "abs").symlink_to(top)
        (where / "in").symlink_to("./file")
    return root


@given(pieces=st.lists(PIECES, max_size=8), slash=st.booleans())
def test_no_path_leads_out(tree: Path, pieces: list[str], slash: bool) -> None:
    path, told = "/" * slash + "/".join(pieces), ["path-outside"]
    try:
        with Beneath(str(tree)).open(path) as file:
            assert file.read() == b"fine"
    except WorkspaceError as refused:
        told.append(refused.code)
    try:
        assert "root" not in {entry.name for entry in Beneath(str(tree)).list(path)}
    except WorkspaceError as refused:
        told.append(refused.code)
    assert set(told) <= {"path-outside", "file-missing", "not-a-file", "not-a-directory", "path"}


def test_links_that_stay_inside_are_followed(tree: Path) -> None:
    beneath = Beneath(str(tree))
    for path in ("in", "a/in", "a/up/file", "a/b/up/up/a/in"):
        with beneath.open(path) as file:
            assert file.read() == b"fine", path


@pytest.mark.pure
@pytest.mark.parametrize("path", ["a/../x", "..", "/", "/etc", "a/..", "../root/file"])
def test_what_goes_up_is_refused_whatever_is_there(path: str) -> None:
    with pytest.raises(WorkspaceError) as refused:
        parts_of(path)
    assert refused.value.code == "path-outside"


def test_a_directory_that_is_swapped_for_a_link_all_the_time_never_leads_out(tmp_path: Path) -> None:
    """Another thread puts a link out of the workspace where a directory was, and back, as fast as it can."""
    root, outside, over = tmp_path / "root", tmp_path / "outside", threading.Event()
    (root / "dir").mkdir(parents=True)
    outside.mkdir()
    (root / "dir" / "file").write_bytes(b"fine")
    (outside / "file").write_bytes(SECRET)
    (root / "link").symlink_to(outside)

    def swap() -> None:
        while not over.is_set():
            for origin, target in (("dir", "aside"), ("link", "dir"), ("dir", "link"), ("aside", "dir")):
                if not (root / origin).is_symlink() and target == "dir":
                    shutil.rmtree(root / "dir", ignore_errors=True)  # a writer has made it meanwhile
                with suppress(OSError):
                    os.rename(root / origin, root / target)

    thread = threading.Thread(target=swap)
    thread.start()
    beneath, read, refused = Beneath(str(root)), 0, 0
    try:
        for number in range(3000):
            try:
                with beneath.open("dir/file") as file:
                    assert file.read() == b"fine"
                    read += 1
            except WorkspaceError:
                refused += 1
            if number % 10 == 0:
                try:
                    with beneath.replacing("dir/new") as new:
                        new.write(b"mine")
                except WorkspaceError:
                    refused += 1
    finally:
        over.set()
        thread.join()
    assert read
    assert refused
    assert sorted(path.name for path in outside.iterdir()) == ["file"]
    assert (outside / "file").read_bytes() == SECRET


def test_nothing_is_left_of_what_was_not_written_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), Beneath(str(tmp_path)).replacing("file") as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_mode_is_kept(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"old")
    (tmp_path / "run").chmod(0o751)
    with Beneath(str(tmp_path)).replacing("run") as file:
        file.write(b"new")
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o751 & ~_umask()


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def test_descriptors_are_given_back(tree: Path) -> None:
    beneath, before = Beneath(str(tree)), len(os.listdir("/proc/self/fd"))
    for path in ("a/b/file", "a/b/up/up/a/in", "loop", "out", "nothing/x", "a/file/x"):
        try:
            beneath.open(path).close()
        except WorkspaceError:
            continue
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("act", ["rewrite", "move"])
def test_no_directory_is_made_at_a_place_that_the_check_refuses(tmp_path: Path, act: str) -> None:
    """A program swaps a directory for a link just before a file is written below it."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "file").write_bytes(b"fine")
    (root / "out").symlink_to(outside)
    asked = list[tuple[str, str]]()

    def check(path: str, real: str) -> None:
        asked.append((path, real))
        if real != f"/{path}":
            raise PermissionError(f"{path} leads to {real}")

    beneath, target = Beneath("/", check), f"{root}/out/g/h/new"[1:]
    with pytest.raises(WorkspaceError) as refused:
        if act == "rewrite":
            beneath.rewrite(target, b"x")
        else:
            beneath.move(f"{root}/file"[1:], target)
    assert refused.value.code == "file", refused.value
    assert list(outside.iterdir()) == []
    assert (target, f"{outside}/g/h/new") in asked
    inside = f"{root}/in/g/new"[1:]
    beneath.rewrite(inside, b"x")
    assert (root / "in/g/new").read_bytes() == b"x"
    beneath.move(f"{root}/file"[1:], f"{root}/there/g/file"[1:])
    assert (root / "there/g/file").read_bytes() == b"fine"


def test_a_file_that_becomes_a_link_as_it_is_opened_is_not_followed(tmp_path: Path) -> None:
    """Whoever moves files meanwhile finds no moment for it: here the last one before the file is opened."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    (root / "file").write_text("inside")
    outside.write_text("secret")
    swaps = [True]

    def swap(event: str, arguments: tuple[object, ...]) -> None:
        if swaps and event == "open" and arguments[0] == "file":
            swaps.clear()
            (root / "file").unlink()
            (root / "file").symlink_to(outside)

    sys.addaudithook(swap)
    with pytest.raises(WorkspaceError), Beneath(str(root)).open("file") as file:
        raise AssertionError(file.read())
    assert not swaps, "it was opened"
