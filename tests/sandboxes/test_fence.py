"""A fence keeps to what it shows, whatever a program does to the paths, and is there again with its workspace."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.placing import Setting
from agentrt.sandboxes.fence import paths_of
from agentrt.sandboxes.here import Here
from agentrt.sandboxes.landlock import READ, WRITE
from agentrt.sandboxes.mounts import Mount
from agentrt.specs.workspace import LocalWorkspace

from .consoles import here, said

pytestmark = pytest.mark.real


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Here]:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("tweet")
    place = here(tmp_path / "work", "auto")
    yield place
    await place.close()


async def test_a_link_shows_nothing_to_the_next_program_or_to_a_file_tool(place: Here, tmp_path: Path) -> None:
    assert await said(place, f"mkdir a; ln -s {tmp_path}/secret link; rmdir a; ln -s {tmp_path}/secret a") == ""
    assert "tweet" not in await said(place, "cat a/key link/key")
    for path in ("a/key", "link/key", "../secret/key"):
        with pytest.raises(ToolError, match="outside of what"):
            await place.files.read(f"{tmp_path}/work/{path}")
        with pytest.raises(ToolError, match="outside of what"):
            await place.files.write(f"{tmp_path}/work/{path}", b"x")
    with pytest.raises(ToolError, match="outside of what"):
        await place.files.names(f"{tmp_path}/work/a")
    assert (tmp_path / "secret/key").read_text() == "tweet"


async def test_a_file_tool_reads_nothing_of_other_processes(place: Here, tmp_path: Path) -> None:
    """It is this process that opens the file, and no fence holds it."""
    await said(place, "ln -s /proc/self/environ innocent.txt; ln -s /proc/self/root/etc/hostname rooted")
    for path in (
        "/proc/self/environ",
        "/proc/self/task/self/environ",
        "/proc/self/root/proc/self/environ",
        "/proc/1/cmdline",
    ):
        with pytest.raises(ToolError):
            await place.files.read(path)
    with pytest.raises(ToolError):
        await place.files.read(f"{tmp_path}/work/innocent.txt")
    with pytest.raises(ToolError):
        await place.files.names("/proc/self")
    assert await place.files.read("/usr/bin/env")


async def test_its_home_and_temporary_files_are_its_own_and_go_with_it(place: Here) -> None:
    made = (await said(place, "touch ~/x $TMPDIR/y; echo ~/x; mktemp")).split()
    assert all(Path(path).exists() for path in made)
    await place.files.write(made[0], b"seen")
    assert await said(place, "cat ~/x") == "seen"
    facts = await place.facts()
    assert made[0] == f"{facts.home}/x"
    assert made[1].startswith(facts.temporary)
    await place.close()
    assert not any(Path(path).exists() for path in made)


async def test_it_is_there_again_with_its_workspace(place: Here) -> None:
    assert await said(place, "echo one > a; cat a") == "one\n"
    shutil.rmtree(place.workspace.path)
    assert await place.prepare()
    assert await said(place, "ls; echo two > a; cat a") == "two\n"


async def test_programs_cannot_make_unix_sockets_and_reach_the_network(place: Here) -> None:
    program = "import socket; socket.socketpair(); socket.socket(); socket.socket(socket.AF_UNIX)"
    assert "PermissionError" in await said(place, f"python3 -c '{program}'")
    assert "line 1" in await said(place, f"python3 -c '{program}'")


async def test_a_store_in_the_workspace_leaves_it_unheld(tmp_path: Path) -> None:
    workspace = LocalWorkspace(str(tmp_path))
    hidden = (str(tmp_path / "store"),)
    place = Here(workspace, Setting(lambda function: None, hidden=hidden), lambda: "namespaces are refused")
    assert "is in the workspace" in await place.unheld()


def test_what_is_covered_is_left_out_of_what_is_shown(tmp_path: Path) -> None:
    for name in ("a/b", "a/c", "d"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a/link").symlink_to("/")
    shown = dict(
        paths_of([Mount("write", str(tmp_path)), Mount("empty", str(tmp_path / "a/b")), Mount("read", "/usr")])
    )
    assert {path: has for path, has in shown.items() if path.startswith(str(tmp_path))} == {
        str(tmp_path / "a/c"): WRITE,
        str(tmp_path / "d"): WRITE,
    }
    assert shown["/usr"] == READ
