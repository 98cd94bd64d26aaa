"""`apply_patch` on real files."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.from_thread
import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentrt.errors import ToolError
from agentrt.protocols import Files
from agentrt.sandboxes.reached import ReachedFiles
from agentrt.specs import FileText, LocalWorkspace
from agentrt.specs.content import plain
from agentrt.tools.patch import apply_patch
from agentrt.tools.patch.apply_patch import ApplyPatchAction, ApplyPatchObservation, commit, plan
from agentrt.tools.patch.envelope import parsed

from ..context import FakeContext

pytestmark = pytest.mark.simulated


async def applied(root: Path, *lines: str) -> ApplyPatchObservation:
    """The result of one patch."""
    patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    executor = apply_patch.executor({})
    done = await executor(ApplyPatchAction(patch), FakeContext(root))
    await executor.aclose()
    assert isinstance(done, ApplyPatchObservation)
    return done


def tree(root: Path) -> dict[str, bytes]:
    """All files and what is in them."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def test_all_that_a_patch_can_do(tmp_path: Path) -> None:
    (tmp_path / "keep.py").write_text("a\nb\nc\n")
    (tmp_path / "go.bin").write_bytes(b"\0\1")
    (tmp_path / "old.sh").write_text("echo 1\n")
    (tmp_path / "old.sh").chmod(0o755)
    done = await applied(
        tmp_path,
        "*** Update File: keep.py", "@@", " a", "-b", "+B", " c",
        "*** Add File: new/deep.txt", "+one", "+", "+two",
        "*** Delete File: go.bin",
        "*** Update File: old.sh", "*** Move to: bin/new.sh", "@@", "-echo 1", "+echo 2",
        "*** Add File: empty",
    )  # fmt: skip
    assert tree(tmp_path) == {
        "keep.py": b"a\nB\nc\n", "new/deep.txt": b"one\n\ntwo\n", "bin/new.sh": b"echo 2\n", "empty": b"",
    }  # fmt: skip
    assert stat.S_IMODE((tmp_path / "bin/new.sh").stat().st_mode) == 0o755
    said = plain(done.content).replace(f"{tmp_path}/", "")
    assert said == "Done:\nM keep.py\nA new/deep.txt\nD go.bin\nR old.sh -> bin/new.sh\nA empty"
    assert "-b\n+B" in done.changes[0].diff
    assert [change.kind for change in done.changes] == ["updated", "added", "deleted", "moved", "added"]


async def test_a_file_may_be_updated_twice_and_be_moved_onto_one_that_goes(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("")
    await applied(
        tmp_path,
        "*** Update File: a", "@@", "-1", "+one",
        "*** Delete File: b",
        "*** Update File: a", "*** Move to: c", "@@", "-3", "+three",
        "*** Update File: c", "@@", "-2", "+two",
    )  # fmt: skip
    assert tree(tmp_path) == {"c": b"one\ntwo\nthree\n"}


@pytest.mark.parametrize("data", [b"a\r\nb\r\n", "\ufeffa\nb".encode(), "a\nb\n".encode("utf-16")])
async def test_a_file_stays_stored_as_it_was(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    await applied(tmp_path, "*** Update File: a", "@@", "-b", "+b", "+ü")
    codec = "utf-16" if data.startswith(b"\xff\xfe") else "utf-8"
    text, now = data.decode(codec), (tmp_path / "a").read_bytes().decode(codec)
    newline = "\r\n" if "\r" in text else "\n"
    assert now == text.replace("b", f"b{newline}ü", 1)


async def test_what_did_not_fit_exactly_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("def f():  \n    x\n")
    done = await applied(tmp_path, "*** Update File: a", "@@", " def f():", "-    x", "+    y")
    assert done.fuzz == ("a, line 1: it fits but for white space at the ends of lines",)
    assert "look at these again:\na, line 1" in plain(done.content)
    assert (tmp_path / "a").read_text() == "def f():  \n    y\n"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["*** Update File: a", "@@", "-nothing like it"], "does not fit"),
        (["*** Update File: gone", "@@", "-x"], "gone does not exist"),
        (["*** Delete File: gone"], "gone does not exist"),
        (["*** Add File: a", "+x"], "a exists already"),
        (["*** Update File: a", "*** Move to: b", "@@", "-1", "+2"], "b exists already"),
        (["*** Delete File: a", "*** Update File: a", "@@", "-1"], "deleted or moved above"),
        (["*** Update File: a", "@@", "-1", "*** Delete File: a"], "changed above"),
        (["*** Delete File: directory"], "directory is not a file"),
        (["*** Update File: binary", "@@", "-1"], "binary file"),
        (["*** Add File: a/below", "+x"], "nothing was changed: .*Not a directory"),
    ],
)
async def test_all_or_nothing(tmp_path: Path, lines: list[str], why: str) -> None:
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "b").write_text("1\n")
    (tmp_path / "binary").write_bytes(b"\0")
    (tmp_path / "directory").mkdir()
    before = tree(tmp_path)
    with pytest.raises(ToolError, match=why):
        await applied(tmp_path, "*** Update File: b", "@@", "-1", "+2", "*** Add File: new", "+x", *lines)
    assert tree(tmp_path) == before


class Failing:
    """Real files, of which the change number `at` fails."""

    def __init__(self, files: Files, at: int) -> None:
        self._files, self._left = files, at
        self.read, self.status, self.names, self.real = files.read, files.status, files.names, files.real
        self.modified = files.modified

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise ToolError("the disk is full")

    def write(self, path: str, data: bytes) -> None:
        """Write, if it does not fail."""
        self._count()
        self._files.write(path, data)

    def move(self, path: str, target: str) -> None:
        """Move, if it does not fail."""
        self._count()
        self._files.move(path, target)

    def remove(self, path: str) -> None:
        """Remove, if it does not fail."""
        self._count()
        self._files.remove(path)


@pytest.mark.parametrize("at", range(1, 8))
def test_a_disk_that_fails_in_the_middle(tmp_path: Path, at: int) -> None:
    for name in "abcd":
        (tmp_path / name).write_text("1\n")
    before = tree(tmp_path)
    patch = (
        "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Add File: e\n+x\n*** Delete File: b\n*** Update File: c\n"
        "*** Move to: f\n@@\n-1\n+3\n*** Delete File: d\n*** End Patch"
    )
    files = ReachedFiles(LocalWorkspace(str(tmp_path)))
    planned = plan(parsed(patch), files, str(tmp_path))
    if at == 7:  # one that was put aside cannot be removed
        commit(planned, Failing(files, at))
        assert {name: data for name, data in tree(tmp_path).items() if not name.endswith(".deleted")} == {
            "a": b"2\n",
            "e": b"x\n",
            "f": b"3\n",
        }
        return
    with pytest.raises(ToolError, match="the disk is full"):
        commit(planned, Failing(files, at))
    assert tree(tmp_path) == before


@pytest.mark.pure
def test_what_it_touches_is_known_before() -> None:
    workspace = LocalWorkspace("/w")
    patch = (
        "*** Begin Patch\n*** Add File: x/../new\n+1\n*** Delete File: /etc/b\n*** Update File: c\n*** Move to: ../d\n"
        "@@\n-1\n*** End Patch"
    )
    action = apply_patch.read(msgspec.Raw(msgspec.json.encode({"patch": patch})))
    assert apply_patch.resources(action, workspace) == ("file:/w/new", "file:/etc/b", "file:/w/c", "file:/d")
    assert apply_patch.effects is not None
    assert apply_patch.effects(action, workspace).writes == (
        FileText("/w/new", "1\n"), FileText("/etc/b"), FileText("/w/c"), FileText("/d"),
    )  # fmt: skip
    assert apply_patch.effects(ApplyPatchAction("nonsense"), workspace).writes == ()


@settings(max_examples=30)
@given(st.text(max_size=200))
async def test_any_text_is_refused_or_applied(tmp_path: Path, text: str) -> None:
    with pytest.raises(ToolError):
        await apply_patch.executor({})(ApplyPatchAction(text), FakeContext(tmp_path))


async def test_links(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("a\nb\nc\n")
    (tmp_path / "link.txt").symlink_to("real.txt")
    (tmp_path / "nowhere").symlink_to("../out.txt")
    await applied(
        tmp_path,
        "*** Update File: real.txt", "-a", "+A",
        "*** Update File: link.txt", "-c", "+C",
    )  # fmt: skip
    assert (tmp_path / "real.txt").read_text() == "A\nb\nC\n"
    for lines in (
        ["*** Delete File: link.txt"],
        ["*** Update File: link.txt", "*** Move to: moved.txt"],
        ["*** Add File: nowhere", "+x"],
    ):
        with pytest.raises(ToolError, match="is a link"):
            await applied(tmp_path, *lines)
    assert (tmp_path / "link.txt").is_symlink()
    assert not (tmp_path.parent / "out.txt").exists()


async def test_a_long_file_of_lines_that_are_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * 300_000)
    with pytest.raises(ToolError, match="does not fit"):
        await applied(tmp_path, "*** Update File: a", *[" x"] * 1000, "-y", "+z")


async def test_a_long_hunk_that_nearly_fits_everywhere(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\nb\n" * 200_000)
    with pytest.raises(ToolError, match="does not fit"):
        await applied(tmp_path, "*** Update File: a", *[" a", " b"] * 5_000, "-a", "-a", "+z")


async def test_an_interrupt_ends_a_patch_of_many_hunks_that_was_not_written(tmp_path: Path) -> None:
    """Each of which is looked for in the whole of a long file."""
    lines = "x\n" * 500_000
    (tmp_path / "a").write_text(lines)
    context = FakeContext(tmp_path)
    reading = anyio.Event()
    files = context.files

    class Watched(FakeContext):
        @property
        def files(self) -> Files:
            return Telling(files, reading.set)

    hunks = [line for n in range(20_000) for line in ("@@", " x\t", "-x", f"+{n}", " x")]
    patch = "\n".join(["*** Begin Patch", "*** Update File: a", *hunks, "*** End Patch"])
    begun = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(apply_patch.executor({}), ApplyPatchAction(patch), Watched(tmp_path))
        await reading.wait()
        tasks.cancel_scope.cancel()
    assert anyio.current_time() - begun < 10
    assert (tmp_path / "a").read_text() == lines


class Telling:
    """Real files, which tell the event loop when one is read."""

    def __init__(self, files: Files, told: Callable[[], object]) -> None:
        self._files, self._told = files, told
        self.status, self.names, self.real = files.status, files.names, files.real
        self.modified = files.modified
        self.write, self.move, self.remove = files.write, files.move, files.remove

    def read(self, path: str) -> bytes:
        """Tell, and read."""
        anyio.from_thread.run_sync(self._told)
        return self._files.read(path)


LAST = st.lists(st.sampled_from(["a", "b", ""]), max_size=6)


@pytest.mark.real
@settings(max_examples=60)
@given(LAST, LAST, LAST)
async def test_a_file_is_left_as_git_apply_leaves_it(
    tmp_path: Path, top: list[str], old: list[str], new: list[str]
) -> None:
    """Down to the last empty line."""
    assume(old != new and (top or old))
    before, wanted = ("".join(f"{line}\n" for line in [*top, *body]) for body in (old, new))
    (tmp_path / "a").write_text(before)
    (tmp_path / "b").write_text(wanted)
    command = ["git", "diff", "--no-index", "--no-color", "--unified=99", "a", "b"]
    diff = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout.decode()
    body = diff[diff.index("\n@@ ") :].split("\n")[2:-1]
    await applied(tmp_path, "*** Update File: a", "@@", *body)
    ours = (tmp_path / "a").read_text()
    (tmp_path / "a").write_text(before)
    subprocess.run(["git", "apply", "-"], input=diff.replace("b/b", "b/a").encode(), cwd=tmp_path, check=True)
    assert ours == (tmp_path / "a").read_text() == wanted


async def test_an_empty_last_line_stays_where_the_last_newline_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\na")
    await applied(tmp_path, "*** Update File: a", "@@", " ", "-a")
    assert (tmp_path / "a").read_text() == "\n"


async def test_a_link_to_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    """The file is changed, and the result can be logged."""
    real = tmp_path / os.fsdecode(b"bad\xff")
    real.mkdir()
    (real / "a").write_text("x\n")
    (tmp_path / "link").symlink_to(real)
    done = await applied(
        tmp_path, "*** Update File: link/a", "@@", "-x", "+y", "*** Update File: link/a", "*** Move to: b"
    )
    assert (tmp_path / "b").read_text() == "y\n"
    assert "bad\ufffd/a -> " in plain(done.content)
    msgspec.json.encode(done)


async def test_what_was_deleted_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("1\n")
    (tmp_path / "run.sh").chmod(0o750)
    (tmp_path / "b").write_text("1\n")
    files = ReachedFiles(LocalWorkspace(str(tmp_path)))
    patch = "*** Begin Patch\n*** Delete File: run.sh\n*** Delete File: b\n*** End Patch"
    with pytest.raises(ToolError, match="the disk is full"):
        commit(plan(parsed(patch), files, str(tmp_path)), Failing(files, 2))
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o750


@pytest.mark.pure
def test_the_argument_may_have_the_name_that_models_know() -> None:
    patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
    assert apply_patch.read(msgspec.Raw(msgspec.json.encode({"input": patch}))) == ApplyPatchAction(patch)
    with pytest.raises(msgspec.ValidationError):
        apply_patch.read(msgspec.Raw(msgspec.json.encode({"text": patch})))
