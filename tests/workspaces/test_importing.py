"""Many files at once, with the real git: one pack, and the tree is the same."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentrt.workspaces.importing import IMPORT_BYTES, MOST_BYTES, imports
from agentrt.workspaces.objects import DIRECTORY, Objects
from agentrt.workspaces.packs import tree_in_packs
from agentrt.workspaces.tree_limits import MANY
from agentrt.workspaces.trees import Trees

pytestmark = pytest.mark.real

ODD = [b"a%cb" % byte for byte in range(1, 256) if byte != ord("/")]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """One with many files, of all kinds and names."""
    root = tmp_path / "workspace"
    for at in range(MANY):
        (root / f"d{at % 20}").mkdir(parents=True, exist_ok=True)
        (root / f"d{at % 20}/f{at}").write_text(f"{at}\n" * 50)
    for name in ODD:
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(name)
    (root / "d1/f1").chmod(0o755)
    (root / "link").symlink_to("d1/f1")
    (root / "large").write_bytes(b"x" * (MOST_BYTES + 1))
    (root / "away").symlink_to("/etc")
    os.mkfifo(root / "pipe")
    return root


def expected(workspace: Path, tmp_path: Path) -> str:
    """The tree that git alone makes of it."""

    def git(*arguments: str, given: bytes = b"") -> bytes:
        place = {"GIT_DIR": str(tmp_path / "plain"), "GIT_WORK_TREE": str(workspace)}
        environment = {**os.environ, **place}
        ran = subprocess.run(
            ["git", *arguments], env=environment, cwd=workspace, input=given, check=True, capture_output=True
        )
        return ran.stdout

    git("init", "-q")
    git("-c", "core.autocrlf=false", "add", "-A")
    return git("write-tree").decode().strip()


async def test_the_tree_is_the_same_and_its_objects_are_in_one_pack(tmp_path: Path, workspace: Path) -> None:
    trees = Trees(str(tmp_path / "trees"), str(workspace))
    assert (await trees.keep()).tree == expected(workspace, tmp_path)
    objects = tmp_path / "trees/objects"
    assert len(list(objects.glob("pack/*.pack"))) == 1
    loose = [path for path in objects.glob("??/*") if path.is_file()]
    assert len(loose) < 10, "the large file, the links, and the directories that they are in"
    await trees.aclose()


async def test_a_tree_in_a_pack_is_read_as_git_reads_it(tmp_path: Path, workspace: Path) -> None:
    trees = Trees(str(tmp_path / "trees"), str(workspace))
    tree = (await trees.keep()).tree
    await trees.aclose()
    objects = Objects(tmp_path / "trees")

    def listed(name: str) -> list[str]:
        command = ["git", "--git-dir", str(tmp_path / "trees"), "ls-tree", "-z", name]
        return (
            subprocess.run(command, check=True, capture_output=True)
            .stdout.decode(errors="surrogateescape")
            .split("\0")[:-1]
        )

    below = [object_id for _, mode, object_id in objects.directory(tree) if mode == DIRECTORY]
    assert len(below) == 20
    assert all(tree_in_packs(tmp_path / "trees", name) is not None for name in below)
    for name in (tree, *below):
        assert [line.partition("\t")[2] for line in listed(name)] == [one for one, _, _ in objects.directory(name)]
        ids = [line.split("\t")[0].split(" ")[2] for line in listed(name)]
        assert ids == [object_id for _, _, object_id in objects.directory(name)]
    assert tree_in_packs(tmp_path / "trees", "0" * 40) is None
    with pytest.raises(FileNotFoundError):
        objects.directory("0" * 40)


async def test_a_damaged_pack_is_an_error(tmp_path: Path, workspace: Path) -> None:
    trees = Trees(str(tmp_path / "trees"), str(workspace))
    tree = (await trees.keep()).tree
    await trees.aclose()
    below = next(name for _, mode, name in Objects(tmp_path / "trees").directory(tree) if mode == DIRECTORY)
    (pack,) = (tmp_path / "trees/objects/pack").glob("*.pack")
    pack.chmod(0o600)
    pack.write_bytes(bytes(byte ^ 0x5A for byte in pack.read_bytes()))
    with pytest.raises(OSError, match="damaged"):
        Objects(tmp_path / "trees").directory(below)


async def test_the_next_change_needs_no_git(tmp_path: Path, workspace: Path) -> None:
    trees = Trees(str(tmp_path / "trees"), str(workspace))
    before = (await trees.keep()).tree
    index = (tmp_path / "trees/index").stat().st_mtime_ns
    (workspace / "d7/f7").write_text("changed")
    after = (await trees.keep(["d7/f7"])).tree
    assert [change.path for change in await trees.changes(before, after)] == ["d7/f7"]
    assert (tmp_path / "trees/index").stat().st_mtime_ns == index
    await trees.aclose()


def test_what_does_not_fit_into_one_import_goes_into_the_next(tmp_path: Path) -> None:
    size, count = MOST_BYTES, IMPORT_BYTES // MOST_BYTES + 1
    for at in range(count):
        (tmp_path / f"f{at:02}").write_bytes(bytes([at]) * size)
    names = [f"f{at:02}" for at in range(count)]
    first, second = imports(str(tmp_path), names)
    assert (first.count(b"\ndata %d\n" % size), second.count(b"\ndata %d\n" % size)) == (count - 1, 1)


def test_what_is_gone_or_leads_elsewhere_is_left_to_git(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "secret").write_text("canary")
    (workspace / "out").symlink_to(tmp_path)
    paths = ("gone", "link", "pipe", "large", "away/passwd", "out/secret", "d0/gone", "d1/f1")
    (given,) = imports(str(workspace), paths)
    assert given.count(b"\nM ") == 1
    assert b'M 100755 inline "d1/f1"\n' in given


def test_nothing_to_import(tmp_path: Path) -> None:
    assert list(imports(str(tmp_path), ())) == []
    assert list(imports(str(tmp_path / "missing"), ("a",))) == []
