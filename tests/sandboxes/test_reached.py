"""Which files a tool reaches from outside: for a container only the workspace's, wherever links lead; and where a path
really ends.
"""

from __future__ import annotations

import os
import resource
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.sandboxes.rated_ends import end_of
from agentrt.sandboxes.reached import ReachedFiles
from agentrt.specs import DockerWorkspace, LocalWorkspace

pytestmark = pytest.mark.simulated


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("canary")
    path = tmp_path / "work"
    path.mkdir()
    return path


def contained(path: Path) -> ReachedFiles:
    return ReachedFiles(DockerWorkspace(path=str(path), image="x"))


@pytest.mark.parametrize(
    "way", ["../secret", "{top}/secret", "/etc/passwd", "link", "up/secret", "a/../../secret", "loop"]
)
def test_nothing_leads_out_of_a_containers_workspace(workspace: Path, way: str) -> None:
    (workspace / "link").symlink_to(workspace.parent / "secret")
    (workspace / "up").symlink_to("..")
    (workspace / "loop").symlink_to("loop")
    (workspace / "a").mkdir()
    files = contained(workspace)
    way = way.format(top=workspace.parent)
    path = way if way.startswith("/") else f"{workspace}/{way}"
    for reach in (files.status, files.read, files.names, files.remove, lambda path: files.write(path, b"x")):
        with pytest.raises(ToolError, match=r"leads out of the workspace .* use the terminal"):
            reach(path)
    assert (workspace.parent / "secret").read_text() == "canary"


def test_a_path_that_only_begins_like_the_workspaces_is_not_in_it(workspace: Path) -> None:
    other = Path(f"{workspace}2")
    other.mkdir()
    with pytest.raises(ToolError, match="leads out"):
        contained(workspace).names(str(other))


@pytest.mark.parametrize("target", ["real", "{root}/real", "below/../real"])
def test_links_within_the_workspace_are_followed(workspace: Path, target: str) -> None:
    (workspace / "below").mkdir()
    (workspace / "real").write_text("one")
    (workspace / "link").symlink_to(target.format(root=workspace))
    files = contained(workspace)
    assert files.read(f"{workspace}/link") == b"one"
    files.write(f"{workspace}/link", b"two")
    assert (workspace / "link").is_symlink()
    assert (workspace / "real").read_text() == "two"
    assert ("link", False, True) in files.names(str(workspace))


def test_on_this_machine_all_files_are_reached(workspace: Path) -> None:
    files = ReachedFiles(LocalWorkspace(str(workspace)))
    (workspace / "link").symlink_to(workspace.parent / "secret")
    assert files.read(f"{workspace}/link") == b"canary"
    assert files.read(f"{workspace}/../secret") == b"canary"
    files.write(f"{workspace.parent}/new/place/x", b"x")
    assert (workspace.parent / "new/place/x").read_bytes() == b"x"


def test_a_file_keeps_its_mode_but_for_bits_that_give_rights_away(workspace: Path) -> None:
    script = workspace / "script"
    script.write_text("one")
    script.chmod(0o4750)
    files = contained(workspace)
    files.write(str(script), b"two")
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert [path.name for path in workspace.iterdir()] == ["script"], "nothing is left of the way there"


def test_a_directory_on_the_way_need_not_be_readable(workspace: Path) -> None:
    (workspace / "closed").mkdir()
    (workspace / "closed" / "x").write_text("one")
    (workspace / "closed").chmod(0o300)
    assert contained(workspace).read(f"{workspace}/closed/x") == b"one"


def test_what_is_not_there_is_none_and_a_part_that_is_no_directory_is_said(workspace: Path) -> None:
    (workspace / "file").write_text("x")
    files = contained(workspace)
    assert files.status(f"{workspace}/gone/x") is None
    assert files.status(str(workspace)) is not None
    with pytest.raises(ToolError, match="Not a directory"):
        files.read(f"{workspace}/file/x")
    with pytest.raises(ToolError, match="No such file"):
        files.read(f"{workspace}/gone")


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """A disk, as it were, on which no file grows beyond a size."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace whose links lead out of it, to files of a person."""
    home, work = tmp_path / "home", tmp_path / "work"
    (home / "below").mkdir(parents=True)
    work.mkdir()
    (home / ".bashrc").write_text("mine\n")
    (work / "file").write_text("a\n")
    (work / "inner").symlink_to("file")
    (work / "rc").symlink_to(home / ".bashrc")
    (work / "new").symlink_to("../home/missing")
    (work / "home").symlink_to(home)
    return work


@pytest.mark.parametrize("data", [b"longer than before\n", b"", b"x"])
def test_the_other_names_of_a_file_keep_its_content(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_text("before\n")
    (tmp_path / "a").chmod(0o4755)
    os.link(tmp_path / "a", tmp_path / "b")
    ReachedFiles(LocalWorkspace(str(tmp_path))).write(str(tmp_path / "a"), data)
    assert ((tmp_path / "a").read_bytes(), (tmp_path / "b").read_bytes()) == (data, b"before\n")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o4755


def test_a_disk_that_is_full_leaves_it_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before\n")
    os.link(tmp_path / "a", tmp_path / "b")
    with no_file_larger_than(1000), pytest.raises(ToolError, match="File too large"):
        ReachedFiles(LocalWorkspace(str(tmp_path))).write(str(tmp_path / "a"), b"x" * 5000)
    assert os.path.samefile(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").read_text() == "before\n"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("file", "file"),
        ("absent/too", "absent/too"),
        ("inner", "file"),
        ("rc", "../home/.bashrc"),
        ("new", "../home/missing"),
        ("home/x/y", "../home/x/y"),
        ("home/../file", "../file"),
    ],
)
def test_a_path_ends_where_links_lead(place: Path, path: str, end: str) -> None:
    assert end_of(str(place / path), str(place)) == os.path.normpath(place / end)


def test_a_workspace_that_is_a_link_keeps_its_name(place: Path) -> None:
    (link := place.parent / "link").symlink_to(place)
    for path in ("file", "absent"):
        assert end_of(str(link / path), str(link)) == str(link / path)
        ReachedFiles(LocalWorkspace(str(link)), ends={}).write(str(link / path), b"x")
    assert (place / "absent").read_bytes() == b"x"
    assert end_of(str(link / "rc"), str(link)) == str(place.parent / "home/.bashrc")


@pytest.mark.parametrize("name", ["rc", "new", "home/.bashrc", "home/below/deep/file", "inner"])
def test_nothing_is_opened_where_a_path_did_not_lead_when_it_was_rated(place: Path, name: str) -> None:
    files, path, home = ReachedFiles(LocalWorkspace(str(place)), ends={}), str(place / name), place.parent / "home"
    end = end_of(path, str(place))
    was = {one: one.read_bytes() for one in home.rglob("*") if one.is_file()}
    told = f"{path} leads to {end}, and was not rated as that: call the tool with the path {end}"
    for done in (partial(files.write, path, b"x"), partial(files.move, str(place / "file"), path)):
        with pytest.raises(ToolError) as refused:
            done()
        assert str(refused.value) == told
    if os.path.exists(path):
        opening: list[Callable[[], object]] = [partial(files.read, path), partial(files.remove, path)]
        opening.append(partial(files.move, path, str(place / "z")))
        for opened in opening:
            with pytest.raises(ToolError, match="was not rated as that"):
                opened()
    assert {one: one.read_bytes() for one in home.rglob("*") if one.is_file()} == was
    assert sorted(os.listdir(home)) == [".bashrc", "below"]
    assert os.listdir(home / "below") == []
    rated = files.rated({path: end})
    rated.write(path, b"x")
    assert Path(end).read_bytes() == b"x"
    rated.move(path, str(place / "moved"))


def test_a_link_that_is_made_after_the_rating_is_not_followed(place: Path) -> None:
    files = ReachedFiles(LocalWorkspace(str(place)), ends={})
    files.write(str(place / "a/b"), b"x")
    (place / "a/b").unlink()
    (place / "a").rmdir()
    (place / "a").symlink_to(place.parent / "home")
    with pytest.raises(ToolError, match="was not rated as that"):
        files.write(str(place / "a/b"), b"x")
