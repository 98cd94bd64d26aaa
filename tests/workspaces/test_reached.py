"""Which files a tool reaches from outside: for a container only the workspace's, wherever links lead."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.specs import DockerWorkspace, LocalWorkspace
from agentrt.workspaces.reached import ReachedFiles


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
