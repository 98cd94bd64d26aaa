"""A box shows a conversation's programs and file tools the same, and no more; it is there again when it has to be."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import psutil
import pytest

from agentrt.errors import ToolError
from agentrt.placing import DEVNULL, Setting
from agentrt.sandboxes import box
from agentrt.sandboxes.here import Here
from agentrt.sandboxes.holding import by_bubblewrap, by_ourselves
from agentrt.sandboxes.mounts import linked_repository
from agentrt.specs.workspace import LocalWorkspace

from .consoles import here, said
from .living import lives, until

pytestmark = pytest.mark.real


@pytest.fixture(params=[by_bubblewrap, by_ourselves])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Here]:
    work = tmp_path / "work"
    work.mkdir()
    place = here(work, "require", request.param)
    yield place
    await place.close()


async def test_programs_and_file_tools_see_the_same_tmp_and_home(place: Here) -> None:
    home = os.path.expanduser("~")
    assert await said(place, "echo a > /tmp/note; mkdir -p ~/d; echo b > ~/d/note") == ""
    assert await place.files.read("/tmp/note") == b"a\n"
    assert await place.files.read(f"{home}/d/note") == b"b\n"
    await place.files.write("/tmp/d/back", b"c\n")
    assert await said(place, "cat /tmp/d/back") == "c\n"
    assert not Path("/tmp/note").exists()
    assert not Path(home, "d/note").exists()


async def test_what_is_outside_is_not_there_for_file_tools(place: Here, tmp_path: Path) -> None:
    (tmp_path / "beside").write_text("secret")
    work = Path(place.workspace.path)
    (work / "link").symlink_to(tmp_path / "beside")
    (work / "above").symlink_to(tmp_path)
    for path in (f"{tmp_path}/beside", f"{work}/link", f"{work}/above/beside", f"{work}/../beside"):
        with pytest.raises(ToolError, match="No such file"):
            await place.files.read(path)
        assert await place.files.status(path) is None
    with pytest.raises(ToolError, match="Read-only file system"):
        await place.files.write("/usr/share/mine", b"")
    await place.files.write(f"{work}/above/new", b"")
    assert not (tmp_path / "new").exists(), "the way there is a directory that only the box has"


async def test_a_link_leads_where_it_leads_for_programs(place: Here) -> None:
    await said(place, "ln -s /tmp/target link; echo x > /tmp/target; ln -s /bin/sh sh")
    work = place.workspace.path
    assert await place.files.read(f"{work}/link") == b"x\n"
    assert await place.files.real(f"{work}/link") == "/tmp/target"
    assert await place.files.real(f"{work}/sh") == os.path.realpath("/bin/sh")


async def ended(processes: list[psutil.Process]) -> None:
    """Return once none of some processes runs."""
    await until(lambda: not any(lives(one.pid) for one in processes))


async def test_it_is_made_again_with_its_workspace(place: Here) -> None:
    work = Path(place.workspace.path)
    assert await said(place, "echo before > /tmp/kept; pwd") == f"{work}\n"
    work.rmdir()
    assert await place.prepare()
    assert await said(place, "touch new; cat /tmp/kept") == "before\n", "what is private is kept"
    assert (work / "new").exists()


async def test_it_is_made_again_when_somebody_has_killed_it(place: Here) -> None:
    assert await said(place, "echo x") == "x\n"
    found = [one for one in psutil.Process().children(recursive=True) if "read -r" in (one.cmdline() or [""])[-1]]
    first = [one for one in found if one.name() == "bash"]
    for process in first:
        process.kill()
    assert first
    await ended(first)
    assert await said(place, "echo y") == "y\n"
    assert "y" in await said(place, "kill -9 -1; echo no") + await said(place, "echo y")


async def test_closing_ends_all_that_is_in_it(place: Here) -> None:
    process = await place.run(["sh", "-c", "(setsid env -i sleep 6011 &); exec sleep 6011"], stdout=DEVNULL)
    await until(lambda: len(sleeping()) == 2)
    inside = sleeping()
    assert len(inside) == 2
    await place.close()
    assert not any(map(lives, inside))
    await process.wait()
    process.close_pipes()
    with pytest.raises(ToolError, match="was closed"):
        await said(place, "true")


def sleeping() -> list[int]:
    found = list[int]()
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [])[-2:] == ["sleep", "6011"]:
            found.append(process.pid)
    return found


async def test_a_signal_reaches_the_program_itself(place: Here) -> None:
    process = await place.run(["sh", "-c", "trap 'echo heard; exit 7' INT; echo ready; while :; do sleep 0.01; done"])
    assert process.stdout is not None
    assert await process.stdout.receive() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert await process.stdout.receive() == b"heard\n"
    assert await process.wait() == 7
    process.close_pipes()


async def test_what_cannot_be_started_is_told_as_outside(place: Here) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        await place.run(["no-such-program"], cwd="/")
    with pytest.raises(FileNotFoundError, match="gone"):
        await place.run(["true"], cwd="/gone")
    with pytest.raises(PermissionError):
        await place.run(["/etc/passwd"], cwd="/")
    with pytest.raises(ValueError, match="null byte"):
        await place.run(["true\0"], cwd="/")


async def test_many_at_once_share_one(place: Here) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(said, place, f"echo {number} > {number}")
    assert len(os.listdir(place.workspace.path)) == 20
    holders = [
        one for one in psutil.Process().children() if one.name() == "bwrap" or "read -r" in (one.cmdline() or [""])[-1]
    ]
    assert len(holders) == 1


async def test_its_environment_has_the_usual_variables_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYAPP_SETTING", "hidden")
    monkeypatch.setenv("OTHER_SETTING", "shown")
    monkeypatch.setenv("LC_NUMERIC", "C")
    workspace = LocalWorkspace(str(tmp_path), confine="require", variables=("OTHER_SETTING",))
    place = Here(workspace, Setting(lambda function: None))
    try:
        text = await said(place, "env")
    finally:
        await place.close()
    assert "MYAPP_SETTING" not in text
    assert "OTHER_SETTING=shown\n" in text
    assert "LC_NUMERIC=C\n" in text


async def test_a_cache_is_shown_as_it_is(tmp_path: Path) -> None:
    work, cache = tmp_path / "work", tmp_path / "cache"
    work.mkdir()
    cache.mkdir()
    (cache / "old").write_text("old\n")
    workspace = LocalWorkspace(str(work), confine="require", caches=(str(cache),))
    place = Here(workspace, Setting(lambda function: None))
    try:
        assert await said(place, f"cat {cache}/old; echo new > {cache}/new") == "old\n"
    finally:
        await place.close()
    assert (cache / "new").read_text() == "new\n"


async def test_a_store_in_the_workspace_is_covered(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/log").write_text("secret")
    place = Here(
        LocalWorkspace(str(tmp_path), confine="require"),
        Setting(lambda function: None, hidden=(str(tmp_path / "store"),)),
    )
    try:
        assert await said(place, "ls store") == ""
        assert await place.files.names(f"{tmp_path}/store") == []
    finally:
        await place.close()


def git(directory: Path, *words: str) -> None:
    """Run git as a person who has a name."""
    given = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *given, *words], cwd=directory, check=True, capture_output=True)


async def test_a_linked_worktree_can_be_committed_in(tmp_path: Path) -> None:
    main, work = tmp_path / "main", tmp_path / "work"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(work))
    (main / "unseen").write_text("x")
    (main / ".git/hooks").mkdir(exist_ok=True)
    place = here(work, "require")
    try:
        told = await said(
            place,
            "echo a > a; git add a; git -c user.name=A -c user.email=a@b commit -q -m second; git log --format=%s;"
            f" ls {main}; echo x > {main}/.git/hooks/pre-commit",
        )
    finally:
        await place.close()
    assert told.startswith("second\nfirst\n")
    assert "unseen" not in told
    assert "Read-only file system" in told


def test_a_file_alone_names_no_repository(tmp_path: Path) -> None:
    main, work = tmp_path / "main", tmp_path / "work"
    for place in (main, work):
        place.mkdir()
    git(main, "init", "-q")
    (work / ".git").write_text(f"gitdir: {main}/.git\n")
    assert linked_repository(str(work / ".git")) is None
    (work / ".git").write_text("no such thing")
    assert linked_repository(str(work / ".git")) is None


def test_a_repository_that_is_forged_in_the_workspace_shows_nothing(tmp_path: Path) -> None:
    work = tmp_path / "worktrees/work"
    work.mkdir(parents=True)
    for name, text in ((".git", f"gitdir: {work}"), ("gitdir", f"{work}/.git"), ("commondir", "../..")):
        (work / name).write_text(f"{text}\n")
    assert linked_repository(str(work / ".git")) is None


async def test_no_descriptor_of_this_machine_is_inside(place: Here) -> None:
    git(Path(place.workspace.path), "init", "-q")
    told = await said(place, "ls -l /proc/self/fd /proc/1/fd /proc/$$/fd")
    leads = {line.rpartition(" -> ")[2] for line in told.splitlines() if " -> " in line}
    assert {lead for lead in leads if lead.startswith("/")} <= {
        "/dev/null",
        *(lead for lead in leads if "/proc/" in lead),
    }


async def test_where_none_can_be_made(tmp_path: Path) -> None:
    def why() -> str:
        return "bubblewrap is not installed"

    setting = Setting(lambda function: None)
    required = Here(LocalWorkspace(str(tmp_path), confine="require"), setting, why)
    wished = Here(LocalWorkspace(str(tmp_path), confine="auto"), setting, why)
    with pytest.raises(ToolError, match="it has to be confined: bubblewrap is not installed"):
        await said(required, "true")
    with pytest.raises(ToolError, match="it has to be confined"):
        await required.files.read(f"{tmp_path}/x")
    assert await said(wished, "echo x") == "x\n"
    await required.close()
    await wished.close()


def test_what_a_box_cannot_hold(tmp_path: Path) -> None:
    assert "far more than a project" in box.cannot_hold("/")
    assert "far more than a project" in box.cannot_hold("/tmp/..")
    assert box.cannot_hold(str(tmp_path)) == ""
    assert box.cannot_hold(str(tmp_path / "new")) == ""
    if os.geteuid() == 0:
        os.chown(tmp_path, 65534, 65534)
        assert "belongs to another user (number 65534)" in box.cannot_hold(str(tmp_path))


async def test_nothing_is_there_before_the_first_call(tmp_path: Path) -> None:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    place = here(tmp_path, "require")
    assert place.variables
    place.console()
    assert {process.pid for process in psutil.Process().children(recursive=True)} == before
    await place.close()


async def test_a_workspace_that_became_a_link_is_refused(place: Here, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    assert await said(place, "echo x") == "x\n"
    Path(place.workspace.path).rmdir()
    Path(place.workspace.path).symlink_to(tmp_path / "secret")
    with pytest.raises(ToolError, match="leads elsewhere"):
        await said(place, "ls")
    with pytest.raises(ToolError, match="leads elsewhere"):
        await place.files.names(place.workspace.path)


async def test_a_link_on_the_way_to_what_is_shown_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its target would be a place of this machine for whoever makes the box anew."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/config").write_text("[user]\nname = A\n")
    monkeypatch.setenv("HOME", str(home))
    place = here(work, "require")
    try:
        assert await said(place, f"mv ~/.config ~/c; ln -s /oldroot{tmp_path}/outside ~/.config") == ""
        work.rmdir()
        work.mkdir()
        with pytest.raises(ToolError, match="leads elsewhere in the box by a link"):
            await said(place, "true")
    finally:
        await place.close()
    assert not (tmp_path / "outside").exists()


async def test_what_is_covered_deep_in_a_workspace_cannot_be_moved_out(tmp_path: Path) -> None:
    (tmp_path / "data/store").mkdir(parents=True)
    (tmp_path / "data/store/log").write_text("tweet")
    hidden = (str(tmp_path / "data/store"),)
    place = Here(LocalWorkspace(str(tmp_path), confine="require"), Setting(lambda function: None, hidden=hidden))
    try:
        assert "busy" in await said(place, "mv data other; cat other/store/log data/store/log")
    finally:
        await place.close()
    assert (tmp_path / "data/store/log").read_text() == "tweet"


async def test_what_traces_the_first_process_gets_nothing(place: Here) -> None:
    told = await said(place, "readlink /proc/1/fd/0; exec 9>/proc/1/fd/0 && echo never")
    assert "Permission denied" in told
    assert "never" not in told
