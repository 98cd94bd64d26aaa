"""Workspaces as they were, with the real git."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import threading
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrt.errors import WorkspaceError
from agentrt.workspaces.tree_index import STAGING
from agentrt.workspaces.tree_limits import Most
from agentrt.workspaces.trees import EMPTY, MOST_NESTED, Trees

pytestmark = pytest.mark.real


def git(place: Path, *arguments: str) -> str:
    """What git says in a repository of the workspace."""
    given = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *given, *arguments], cwd=place, check=True, capture_output=True, text=True).stdout


def seen(root: Path) -> dict[str, tuple[str, bytes]]:
    """Every file and link: its kind and what is in it."""
    found = dict[str, tuple[str, bytes]]()
    for path in sorted(root.rglob("*")):
        name, status = str(path.relative_to(root)), path.lstat()
        if ".git" in path.relative_to(root).parts:
            continue
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", os.readlink(path).encode())
        elif stat.S_ISREG(status.st_mode):
            found[name] = ("program" if status.st_mode & 0o100 else "file", path.read_bytes())
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """One with all kinds of files: ignored, nested, binary, linked, executable, and what git would change."""
    root = tmp_path / "workspace"
    (root / "src/deep").mkdir(parents=True)
    (root / "src/a.py").write_text("one\n")
    (root / "src/deep/crlf.txt").write_bytes(b"x\r\ny\r\n$Id$\r\n")
    (root / "binary").write_bytes(bytes(range(256)) * 40)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("src/a.py")
    (root / "broken").symlink_to("/nowhere/at/all")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    (root / "x.log").write_text("log\n")
    (root / "build").mkdir()
    (root / "build/out").write_bytes(b"\0\1")
    (root / ".gitattributes").write_text("* text=auto eol=lf filter=evil ident working-tree-encoding=UTF-16\n")
    (root / "naïve name\n").write_text("odd\n")
    os.mkfifo(root / "pipe")
    for name in ("nested", "unborn"):
        (root / name).mkdir()
        git(root / name, "init", "-q")
        (root / name / "n.txt").write_text(f"{name}\n")
    git(root / "nested", "add", "-A")
    git(root / "nested", "commit", "-qm", "x")
    (root / "nested/inner").mkdir()
    git(root / "nested/inner", "init", "-q")
    (root / "nested/inner/i.txt").write_text("inner\n")
    return root


@pytest.fixture
def trees(tmp_path: Path, workspace: Path) -> Trees:
    return Trees(str(tmp_path / "trees"), str(workspace))


async def test_what_was_there_comes_back(trees: Trees, workspace: Path) -> None:
    before = seen(workspace)
    first = await trees.keep()
    assert first.left_out == ()
    (workspace / "src/a.py").write_text("two\n")
    (workspace / "src/deep/crlf.txt").unlink()
    (workspace / "binary").write_bytes(b"\0")
    (workspace / "run.sh").chmod(0o644)
    (workspace / "link").unlink()
    (workspace / "link").write_text("no link any more\n")
    (workspace / "broken").unlink()
    (workspace / "broken").mkdir()
    (workspace / "broken/new").write_text("x\n")
    (workspace / "x.log").write_text("more\n")
    shutil.rmtree(workspace / "build")
    (workspace / "build").write_text("a file\n")
    (workspace / "nested/n.txt").write_text("changed\n")
    (workspace / "nested/inner/i.txt").unlink()
    (workspace / "unborn/more.txt").write_text("new\n")
    (workspace / "new/deep").mkdir(parents=True)
    (workspace / "new/deep/x").write_text("new\n")
    after = seen(workspace)
    done = await trees.restore(first.tree)
    assert seen(workspace) == before
    assert done.left == ()
    assert not (workspace / "new").exists()
    assert (await trees.keep()).tree == first.tree
    await trees.restore(done.before)
    assert seen(workspace) == after


async def test_the_same_files_are_the_same_tree(trees: Trees, workspace: Path) -> None:
    first = await trees.keep()
    (workspace / "src/a.py").write_text("two\n")
    second = await trees.keep()
    assert second.tree != first.tree
    (workspace / "src/a.py").write_text("one\n")
    assert (await trees.keep()).tree == first.tree


async def test_what_has_changed(trees: Trees, workspace: Path) -> None:
    first = (await trees.keep()).tree
    (workspace / "src/a.py").write_text("two\n")
    (workspace / "nested/new").write_text("new\n")
    (workspace / "x.log").unlink()
    second = (await trees.keep()).tree
    found = [(one.status, one.path) for one in await trees.changes(first, second)]
    assert found == [("A", "nested/new"), ("M", "src/a.py"), ("D", "x.log")]
    assert await trees.changes(first, first) == []
    diff, cut = await trees.diff(first, second, "src")
    assert diff.endswith("-one\n+two\n")
    assert not cut
    assert await trees.read(first, "src/a.py") == b"one\n"
    assert await trees.read(first, "src/deep/crlf.txt") == b"x\r\ny\r\n$Id$\r\n"
    with pytest.raises(WorkspaceError, match="was not there"):
        await trees.read(first, "nested/new")


async def test_what_others_have_changed_stays_and_is_said(trees: Trees, workspace: Path) -> None:
    first = (await trees.keep()).tree
    (workspace / "src/a.py").write_text("a person's\n")
    shutil.rmtree(workspace / "build")
    (workspace / "build").mkdir()
    (workspace / "build/out").mkdir()
    (workspace / "build/out/mine").write_text("a person's\n")
    second = (await trees.keep()).tree
    (workspace / "run.sh").write_text("an agent's\n")
    (workspace / "src/a.py").write_text("an agent's\n")
    done = await trees.restore(first, await trees.changes(first, second))
    assert (workspace / "src/a.py").read_text() == "a person's\n", "as they made it last"
    assert (workspace / "build/out/mine").read_text() == "a person's\n"
    assert (workspace / "run.sh").read_text() == "#!/bin/sh\n"
    assert done.left == ("build/out", "build/out/mine", "src/a.py")
    assert done.done == ("run.sh", "src/a.py")
    assert not (workspace / ".agentrt").exists()


async def test_what_is_not_as_it_was_kept_stays(workspace: Path, tmp_path: Path) -> None:
    """What no tree has is not overwritten."""
    (workspace / "data.txt").write_text("one\n")
    trees = Trees(str(tmp_path / "trees"), str(workspace), most=Most(ignored_files=1))
    first = (await trees.keep()).tree
    (workspace / "data.txt").unlink()
    (workspace / ".gitignore").write_text("*.log\nbuild/\ndata.txt\n")
    await trees.keep()
    (workspace / "data.txt").write_text("a person's\n")
    done = await trees.restore(first)
    assert (workspace / "data.txt").read_text() == "a person's\n"
    assert done.left == ("data.txt",)


async def test_a_store_in_a_repository_in_the_workspace_is_left_alone(workspace: Path) -> None:
    store = workspace / "nested/store"
    store.mkdir()
    (store / "events").write_text("one\n")
    trees = Trees(str(store / "mine"), str(workspace), apart_from=[str(store)])
    first = (await trees.keep()).tree
    (store / "events").write_text("two\n")
    (workspace / "nested/n.txt").write_text("two\n")
    assert await trees.listing(first, "nested")
    assert not [one for one in await trees.listing(first, "nested") if one.name == "store"]
    await trees.restore(first)
    assert (store / "events").read_text() == "two\n"
    assert (workspace / "nested/n.txt").read_text() == "nested\n"


async def test_a_file_that_became_a_directory_without_files_comes_back(trees: Trees, workspace: Path) -> None:
    first = (await trees.keep()).tree
    (workspace / "src/a.py").unlink()
    (workspace / "src/a.py/b/c").mkdir(parents=True)
    assert (await trees.restore(first)).left == ()
    assert (workspace / "src/a.py").read_text() == "one\n"


async def test_a_fork_of_a_fork_has_all_trees(trees: Trees, workspace: Path, tmp_path: Path) -> None:
    first, origin = (await trees.keep()).tree, str(tmp_path / "trees")
    for depth in range(8):
        fork = Trees(str(tmp_path / f"fork{depth}"), str(workspace), [origin])
        await fork.keep()
        origin = str(tmp_path / f"fork{depth}")
    assert await fork.read(first, "src/a.py") == b"one\n"


async def test_repositories_with_long_names_are_told_apart(trees: Trees, workspace: Path) -> None:
    for above in ("a", "b"):
        place = workspace / above / ("x" * 210)
        place.mkdir(parents=True)
        git(place, "init", "-q")
        (place / "f").write_text(f"{above}\n")
    before = seen(workspace)
    first = (await trees.keep()).tree
    for above in ("a", "b"):
        (workspace / above / ("x" * 210) / "f").write_text("changed\n")
    await trees.restore(first)
    assert seen(workspace) == before


async def test_permissions_stay(trees: Trees, workspace: Path) -> None:
    (workspace / "x.log").chmod(0o600)
    first = (await trees.keep()).tree
    (workspace / "x.log").write_text("more\n")
    (workspace / "run.sh").chmod(0o640)
    await trees.restore(first)
    assert (workspace / "x.log").stat().st_mode & 0o777 == 0o600
    assert (workspace / "run.sh").stat().st_mode & 0o777 == 0o750


async def test_the_repository_of_the_workspace_stays_as_it_is(trees: Trees, workspace: Path, tmp_path: Path) -> None:
    """Its configuration runs nothing: a canary would tell."""
    canary = tmp_path / "canary"
    git(workspace, "init", "-q")
    (workspace / ".git/hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        (workspace / ".git/hooks" / hook).write_text(f"#!/bin/sh\ntouch {canary}\n")
        (workspace / ".git/hooks" / hook).chmod(0o755)
    for key in ("filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "diff.evil.command", "core.pager"):
        git(workspace, "config", key, f"touch {canary}; cat")
    git(workspace, "config", "core.worktree", str(tmp_path))
    inside = {path: path.read_bytes() for path in (workspace / ".git").rglob("*") if path.is_file()}
    first = (await trees.keep()).tree
    (workspace / "src/a.py").write_text("two\n")
    await trees.diff(first, (await trees.keep()).tree)
    await trees.restore(first)
    assert not canary.exists()
    assert {path: path.read_bytes() for path in (workspace / ".git").rglob("*") if path.is_file()} == inside


async def test_repositories_that_come_and_go(trees: Trees, workspace: Path) -> None:
    first = (await trees.keep()).tree
    (workspace / "clone/sub").mkdir(parents=True)
    git(workspace / "clone", "init", "-q")
    (workspace / "clone/sub/x").write_text("x\n")
    git(workspace / "clone", "add", "-A")
    git(workspace / "clone", "commit", "-qm", "x")
    shutil.rmtree(workspace / "nested/.git")
    second = (await trees.keep()).tree
    assert [(one.status, one.path) for one in await trees.changes(first, second)] == [("A", "clone/sub/x")]
    git(workspace / "src", "init", "-q")
    (workspace / "src/b.py").write_text("b\n")
    third = (await trees.keep()).tree
    assert [(one.status, one.path) for one in await trees.changes(second, third)] == [("A", "src/b.py")]
    before = seen(workspace)
    await trees.restore(first)
    await trees.restore(third)
    assert seen(workspace) == before


async def test_another_process_goes_on(trees: Trees, workspace: Path, tmp_path: Path) -> None:
    """Also after one that was killed while git held its lock."""
    first = (await trees.keep()).tree
    (tmp_path / "trees/index.lock").touch()
    again = Trees(str(tmp_path / "trees"), str(workspace))
    assert (await again.keep()).tree == first


async def test_a_fork_has_the_trees_of_its_parent(trees: Trees, workspace: Path, tmp_path: Path) -> None:
    first = (await trees.keep()).tree
    fork = Trees(str(tmp_path / "fork"), str(workspace), [str(tmp_path / "trees")])
    assert await fork.read(first, "src/a.py") == b"one\n"
    (workspace / "src/a.py").write_text("two\n")
    await fork.restore(first)
    assert (workspace / "src/a.py").read_text() == "one\n"


async def test_the_store_in_the_workspace_is_left_alone(workspace: Path) -> None:
    store = workspace / "src/store"
    (store / "other").mkdir(parents=True)
    (store / "other/x").write_text("x\n")
    trees = Trees(str(store / "mine"), str(workspace), apart_from=[str(store)])
    first = (await trees.keep()).tree
    (store / "other/x").write_text("y\n")
    assert (await trees.keep()).tree == first
    await trees.restore(first)
    assert (store / "other/x").read_text() == "y\n"
    inside = Trees(str(store / "mine"), str(store / "other"), apart_from=[str(store)])
    with pytest.raises(WorkspaceError, match="which no agent works on"):
        await inside.keep()


async def test_an_empty_workspace(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    trees = Trees(str(tmp_path / "trees"), str(tmp_path / "empty"))
    assert (await trees.keep()).tree == EMPTY
    (tmp_path / "empty/a").write_text("x")
    await trees.restore(EMPTY)
    assert list((tmp_path / "empty").iterdir()) == []


async def test_much_that_is_ignored_is_left_out(workspace: Path, tmp_path: Path) -> None:
    trees = Trees(str(tmp_path / "trees"), str(workspace), most=Most(ignored_files=1))
    first = await trees.keep()
    assert first.left_out == ("what is ignored",)
    (workspace / "x.log").write_text("more\n")
    (workspace / "build/out").unlink()
    (workspace / "src/a.py").write_text("two\n")
    await trees.restore(first.tree)
    assert (workspace / "x.log").read_text() == "more\n"
    assert not (workspace / "build/out").exists()
    assert (workspace / "src/a.py").read_text() == "one\n"


async def test_what_comes_to_be_much_is_left_out_from_then_on(workspace: Path, tmp_path: Path) -> None:
    """Such as what a package manager puts there later."""
    trees = Trees(str(tmp_path / "trees"), str(workspace), most=Most(ignored_files=10))
    first = await trees.keep()
    assert first.left_out == ()
    assert await trees.keep() == first
    for number in range(12):
        (workspace / f"build/{number}").write_text("made\n")
    second = await trees.keep()
    assert second.left_out == ("what is ignored",)
    assert await trees.changes(first.tree, second.tree) == []
    (workspace / "huge").write_bytes(bytes(1000))
    with pytest.raises(WorkspaceError, match="more than 900 bytes"):
        await Trees(str(tmp_path / "trees"), str(workspace), most=Most(bytes=900)).keep()


async def test_what_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home/me"))
    (tmp_path / "home/me").mkdir(parents=True)
    for place in ("home/me", "home"):
        with pytest.raises(WorkspaceError, match="home directory"):
            await Trees(str(tmp_path / "trees"), str(tmp_path / place)).keep()
    (tmp_path / "many").mkdir()
    for name in "abc":
        (tmp_path / "many" / name).write_text("x" * 10)
    for most, why in (
        (Most(bytes=25), "too many files"),
        (Most(files=2), "more than 2"),
        (Most(stored=29), "all that was kept"),
    ):
        with pytest.raises(WorkspaceError, match=why):
            await Trees(str(tmp_path / "trees"), str(tmp_path / "many"), most=most).keep()
    with pytest.raises(WorkspaceError):
        await Trees(str(tmp_path / "trees"), str(tmp_path / "gone")).keep()


async def test_what_was_left_out_is_not_removed_once_it_is_not_ignored(workspace: Path, tmp_path: Path) -> None:
    """It was there, but it is not known what it was."""
    for name in ("data/deep/x", "data/y", "src/deep/only.log", "venv/lib/z"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("precious\n")
    (workspace / ".gitignore").write_text("*.log\nbuild/\ndata/\n")
    (workspace / "venv/.gitignore").write_text("*\n")
    before = seen(workspace)
    trees = Trees(str(tmp_path / "trees"), str(workspace), most=Most(ignored_files=1))
    first = await trees.keep()
    (workspace / ".gitignore").write_text("*.pyc\n")
    (workspace / "venv/.gitignore").unlink()
    (workspace / "src/made").write_text("an agent's\n")
    (workspace / "src/deep/made").write_text("an agent's\n")
    second = await trees.keep()
    found = [(one.status, one.path) for one in await trees.changes(first.tree, second.tree)]
    assert found == [("M", ".gitignore"), ("A", "src/deep/made"), ("A", "src/made")], "nothing else was added"
    done = await trees.restore(first.tree)
    kept = {"venv/lib/z", "data/y", "data/deep/x", "src/deep/only.log", "build/out", "x.log"}
    assert kept <= set(done.unknown)
    assert set(done.unknown) <= set(done.left)
    after = seen(workspace)
    assert {path: before[path] for path in kept} == {path: after[path] for path in kept}
    assert not (workspace / "src/made").exists()
    assert not (workspace / "src/deep/made").exists()
    assert (workspace / ".gitignore").read_text() == "*.log\nbuild/\ndata/\n"


@pytest.mark.parametrize(
    ("before", "after", "command"), [("*.log", "*.pyc", "update-index"), ("*.pyc", "*.log", "--modified")]
)
async def test_what_is_ignored_may_change_meanwhile(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, command: str
) -> None:
    """No file is in neither, the tree and what was left out of it."""
    trees = Trees(str(tmp_path / "trees"), str(workspace), most=Most(ignored_files=0))
    (workspace / ".gitignore").write_text(f"{before}\nbuild/\n")
    shutil.rmtree(workspace / "nested")
    shutil.rmtree(workspace / "unborn")
    (workspace / "x.log").unlink()
    assert (await trees.keep()).left_out == ("what is ignored",)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(
        f"""#!/bin/sh
case " $* " in *" {command} "*) echo > {programs}/asks; cat {programs}/goes;; esac
exec {shutil.which("git")} "$@"
"""
    )
    (programs / "git").chmod(0o755)
    for name in ("asks", "goes"):
        os.mkfifo(programs / name)  # git itself can write nothing in the workspace

    def change() -> None:
        while (programs / "asks").read_text() == "\n":
            (workspace / ".gitignore").write_text(f"{after}\n")
            (programs / "goes").write_text("")

    changing = threading.Thread(target=change)
    changing.start()
    (workspace / "x.log").write_text("precious\n")
    (workspace / "src/a.py").write_text("two\n")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    kept = await trees.keep(whole=True)
    (programs / "asks").write_text("no more")
    changing.join()
    assert not any(one.name == "x.log" for one in await trees.listing(kept.tree))
    assert (await trees.left_out([kept.tree]))[0].covers("x.log")


async def test_what_a_tree_in_between_left_out_stays(workspace: Path, tmp_path: Path) -> None:
    """Somebody may have made it while it was left out."""
    trees = Trees(str(tmp_path / "trees"), str(workspace), most=Most(ignored_files=1))
    first = await trees.keep()
    (workspace / "theirs.log").write_text("a person's\n")
    second = await trees.keep()
    (workspace / ".gitignore").unlink()
    await trees.keep()
    done = await trees.restore(first.tree, through=[second.tree])
    assert (workspace / "theirs.log").read_text() == "a person's\n"
    assert "theirs.log" in done.unknown


async def test_repositories_that_were_left_out_are_not_removed(workspace: Path, tmp_path: Path) -> None:
    (workspace / "many").mkdir()
    names = [f"many/r{number:02}" for number in range(MOST_NESTED + 3)]
    for name in names:
        (workspace / name).mkdir()
        git(workspace / name, "init", "-q")
        (workspace / name / "work.txt").write_text("precious\n")
    trees = Trees(str(tmp_path / "trees"), str(workspace))
    first = await trees.keep()
    assert len(first.left_out) > 3
    before = seen(workspace)
    shutil.rmtree(workspace / names[0])
    for name in names[-2:]:
        shutil.rmtree(workspace / name / ".git")
    git(workspace, "init", "-q", "a_new_one")
    (workspace / "a_new_one/x").write_text("an agent's\n")
    second = await trees.keep()
    steps = await trees.changes(first.tree, second.tree)
    assert [(one.status, one.path) for one in steps] == [("A", "a_new_one/x"), ("D", f"{names[0]}/work.txt")]
    assert (await trees.restore(first.tree)).left == ()
    assert seen(workspace) == before


async def test_a_workspace_that_was_removed_comes_back(trees: Trees, workspace: Path) -> None:
    first, before = (await trees.keep()).tree, seen(workspace)
    shutil.rmtree(workspace)
    assert (await trees.keep()).tree == EMPTY
    assert await trees.read(first, "src/a.py") == b"one\n"
    assert (await trees.restore(first)).left == ()
    assert {path for path in before if path not in seen(workspace)} == set()
    assert seen(workspace) == before
    shutil.rmtree(workspace)
    workspace.mkdir()
    assert (await trees.restore(first)).left == ()
    assert seen(workspace) == before


@pytest.mark.parametrize("kept", [5, pytest.param(25, marks=pytest.mark.long)])
async def test_files_that_come_and_go_meanwhile(trees: Trees, workspace: Path, kept: int) -> None:
    """As a build or a watcher has it: each tree is made all the same."""
    stop = anyio.Event()

    def churn() -> None:
        for number in range(400):
            (workspace / f".tmp{number % 9}").write_text(str(number))
            os.replace(workspace / f".tmp{number % 9}", workspace / f"out{number % 9}")

    async def churning() -> None:
        while not stop.is_set():
            await anyio.to_thread.run_sync(churn)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(churning)
        for number in range(kept):
            (workspace / "src/a.py").write_text(f"{number}\n")
            assert await trees.read((await trees.keep()).tree, "src/a.py") == f"{number}\n".encode()
        stop.set()


async def test_a_pipe_that_git_would_wait_for(trees: Trees, workspace: Path, tmp_path: Path) -> None:
    first, before = (await trees.keep()).tree, seen(workspace)
    for name in (".gitattributes", ".gitignore", "src/.gitattributes"):
        (workspace / name).unlink(missing_ok=True)
        os.mkfifo(workspace / name)
    (workspace / "src/a.py").write_text("two\n")
    with anyio.fail_after(30):
        done = await trees.restore(first)
        assert (workspace / "src/a.py").read_text() == "one\n"
        assert done.left == (".gitattributes", ".gitignore")
        other = Trees(str(tmp_path / "other"), str(workspace), most=Most(ignored_files=0))
        assert (await other.keep()).tree
    for name in (".gitattributes", ".gitignore", "src/.gitattributes"):
        (workspace / name).unlink()
    await trees.restore(first)
    assert seen(workspace) == before


async def test_what_became_a_pipe_stays_and_is_said(trees: Trees, workspace: Path) -> None:
    first = (await trees.keep()).tree
    (workspace / "src/a.py").unlink()
    os.mkfifo(workspace / "src/a.py")
    done = await trees.restore(first)
    assert (done.left, done.unknown) == (("src/a.py",), ("src/a.py",))


async def test_what_git_refuses_is_said(trees: Trees, workspace: Path) -> None:
    (workspace / "src/.GIT").write_text("theirs\n")
    (workspace / ".gitmodules").symlink_to("src/a.py")
    first = await trees.keep()
    assert first.left_out == (".gitmodules", "src/.GIT")
    os.rename(workspace / "src/.GIT", workspace / "src/git")
    await trees.keep()
    (workspace / ".gitmodules").unlink()
    (workspace / ".gitmodules").write_text("an agent's\n")
    done = await trees.restore(first.tree)
    assert not (workspace / "src/git").exists()
    assert done.left == done.unknown == (".gitmodules",)


@pytest.mark.parametrize("kind", ["file", "link"])
async def test_a_name_of_ours_that_is_taken(trees: Trees, workspace: Path, tmp_path: Path, kind: str) -> None:
    if kind == "file":
        (workspace / ".agentrt").write_text("mine\n")
    else:
        (tmp_path / "elsewhere").mkdir()
        (workspace / ".agentrt").symlink_to(tmp_path / "elsewhere")
    before = seen(workspace)
    first = (await trees.keep()).tree
    (workspace / "src/a.py").write_text("two\n")
    assert (await trees.restore(first)).left == ()
    assert seen(workspace) == before


async def test_what_a_killed_restore_leaves_is_removed(trees: Trees, workspace: Path, tmp_path: Path) -> None:
    first = (await trees.keep()).tree
    left, in_use = workspace / f"{STAGING}left", workspace / f"{STAGING}other"
    for place in (left, in_use):
        place.mkdir()
        (place / "x").write_text("x\n")
    held = os.open(in_use, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    again = Trees(str(tmp_path / "trees"), str(workspace))
    assert (await again.keep()).tree == first
    os.close(held)
    assert not left.exists()
    assert (in_use / "x").exists()


async def test_permissions_of_a_file_that_was_removed(trees: Trees, workspace: Path, tmp_path: Path) -> None:
    (workspace / "key").write_text("secret\n")
    (workspace / "key").chmod(0o600)
    (workspace / "nested/key").write_text("secret\n")
    (workspace / "nested/key").chmod(0o400)
    first = (await trees.keep()).tree
    (workspace / "key").unlink()
    (workspace / "nested/key").unlink()
    again = Trees(str(tmp_path / "trees"), str(workspace))
    await again.restore(first)
    assert (workspace / "key").stat().st_mode & 0o777 == 0o600
    assert (workspace / "nested/key").stat().st_mode & 0o777 == 0o400


async def test_a_store_with_a_relative_path(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = (await Trees("trees", str(workspace)).keep()).tree
    (workspace / "src/a.py").write_text("two\n")
    fork = Trees("fork", str(workspace), ["trees"])
    await fork.restore(first)
    assert (workspace / "src/a.py").read_text() == "one\n"


async def test_a_cut_one_is_made_again(trees: Trees, workspace: Path) -> None:
    with anyio.move_on_after(0.01):
        await trees.keep()
    first = (await trees.keep()).tree
    for seconds in (0.001, 0.005, 0.01, 0.02):
        (workspace / "src/a.py").write_text(f"{seconds}\n")
        with anyio.move_on_after(seconds):
            await trees.keep()
    (workspace / "src/a.py").write_text("one\n")
    assert (await trees.keep()).tree == first


FILES = st.dictionaries(
    st.lists(st.sampled_from(["a", "b", "ä", "x y", "-n", "*"]), min_size=1, max_size=3).map("/".join),
    st.one_of(st.binary(max_size=20), st.sampled_from(["a", "../b", "/etc"])),
    max_size=6,
)


@settings(max_examples=12)
@given(FILES, FILES)
async def test_any_files_come_back(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, bytes | str], after: dict[str, bytes | str]
) -> None:
    root = tmp_path_factory.mktemp("any")
    trees = Trees(str(root / "trees"), str(root / "files"))
    (root / "files").mkdir()
    kept = list[tuple[str, dict[str, tuple[str, bytes]]]]()
    for files in (before, after):
        shutil.rmtree(root / "files")
        (root / "files").mkdir()
        for path, data in files.items():
            place = root / "files" / path
            if any(parent.is_file() or parent.is_symlink() for parent in place.parents) or place.exists():
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(data, str):
                place.symlink_to(data)
            else:
                place.write_bytes(data)
        kept.append(((await trees.keep()).tree, seen(root / "files")))
    for tree, files_then in kept:
        assert (await trees.restore(tree)).left == ()
        assert seen(root / "files") == files_then
