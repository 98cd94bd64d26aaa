"""The copy of a workspace that only its place has: what the place says of its files is not trusted."""

from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from agentrt.errors import ToolError
from agentrt.placing import AsyncFiles, Setting, Walked
from agentrt.sandboxes.in_memory import InMemory, MemoryFiles, MemoryWorkspace
from agentrt.sandboxes.mirror import MOST_FILES, PlaceMirror

pytestmark = pytest.mark.simulated

FILE, LINK, DIRECTORY = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755


class Lying(MemoryFiles):
    """Files whose list is `said`, and whose content is that of their path; those in `closed` cannot be read."""

    def __init__(self) -> None:
        super().__init__("/w")
        self.said: list[Walked] = []
        self.closed = set[str]()

    def walk(self, path: str, most: int, skipped: Any = ()) -> list[Walked]:
        return self.said

    def read(self, path: str) -> bytes:
        if path in self.closed:
            raise ToolError(f"{path}: Permission denied")
        return f"content of {path}".encode()


def lying() -> tuple[Lying, PlaceMirror]:
    files = Lying()
    place = SimpleNamespace(files=AsyncFiles(files), workspace=MemoryWorkspace("/w"), variables={})
    return files, PlaceMirror(cast(Any, place))


@pytest.mark.parametrize(
    "said",
    [
        [Walked("../canary", FILE, 1, 1)],
        [Walked("a/../../canary", FILE, 1, 1)],
        [Walked("/canary", FILE, 1, 1)],
        [Walked("l", LINK, 1, 1, "/tmp"), Walked("l/canary", FILE, 1, 1)],
        [Walked("a", FILE, 1, 1), Walked("a/canary", FILE, 1, 1)],
        [Walked("nowhere/canary", FILE, 1, 1)],
        [Walked(".git", DIRECTORY, 0, 1), Walked(".git/config", FILE, 1, 1)],
        [Walked("a", FILE, 1, 1), Walked("a", LINK, 1, 1, "/tmp")],
        [Walked("a\0b", FILE, 1, 1)],
        [Walked("n" * 256, FILE, 1, 1)],
        [Walked("\ud800", FILE, 1, 1)],
        [Walked("l", LINK, 0, 1, "")],
        [Walked("l", LINK, 1, 1, "t" * 5000)],
        [Walked("a", FILE, -5, 1)],
        [Walked("a", FILE, 1 << 40, 1)],
        [Walked(f"f{number}", FILE, 0, 1) for number in range(MOST_FILES + 1)],
        [Walked("/".join("d" for _ in range(depth + 1)), DIRECTORY, 0, 1) for depth in range(200)],
    ],
)
async def test_a_list_that_no_directory_has_is_refused(said: list[Walked]) -> None:
    files, mirror = lying()
    files.said = said
    try:
        with pytest.raises(ToolError):
            await mirror.fetch()
        assert not Path(mirror.directory).parent.joinpath("canary").exists()
    finally:
        await mirror.close()
    assert not Path(mirror.directory).exists()


async def test_a_link_that_was_put_into_the_copy_is_not_followed(tmp_path: Path) -> None:
    """A rewind puts what was kept into the copy, also links; the next list may name files below one."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "keys").write_text("canary")
    files, mirror = lying()
    files.content = {"/w/l/keys": b"", "/w/l/new": b""}
    below = [Walked("l", DIRECTORY, 0, 1), Walked("l/keys", FILE, 1, 1), Walked("l/new", FILE, 1, 1)]
    try:
        for closed in (set[str](), {"/w/l/keys", "/w/l/new"}):
            files.said, files.closed = below, closed
            if closed:
                files.said = [replaced._replace(changed=2) for replaced in below]
                with pytest.raises(ToolError):
                    await mirror.fetch()
            else:
                await mirror.fetch()
            copy = Path(mirror.directory)
            for one in (copy / "l/keys", copy / "l/new"):
                one.unlink(missing_ok=True)
            if (copy / "l").is_dir() and not (copy / "l").is_symlink():
                (copy / "l").rmdir()
            (copy / "l").unlink(missing_ok=True)
            (copy / "l").symlink_to(victim)
            files.said, files.closed = [], set()
            await mirror.fetch()
            (copy / "l").symlink_to(victim)
            files.said = below
            await mirror.fetch()
            assert (copy / "l/keys").read_text() == "content of /w/l/keys"
            assert not (copy / "l").is_symlink()
        assert (victim / "keys").read_text() == "canary"
        assert [one.name for one in victim.iterdir()] == ["keys"]
    finally:
        await mirror.close()


async def test_what_cannot_be_read_is_said_and_what_is_gone_is_not_there() -> None:
    place = InMemory(MemoryWorkspace("/w"), Setting(lambda function: None))
    place.memory.write("/w/a", b"1")
    files, mirror = lying()
    files.content, files.said = {"/w/a": b"1"}, [Walked("a", FILE, 1, 1)]
    files.closed = {"/w/a"}
    with pytest.raises(ToolError, match="denied"):
        await mirror.fetch()
    files.content = {}
    await mirror.fetch()
    assert list(Path(mirror.directory).iterdir()) == []
    await mirror.close()
    with pytest.raises(ToolError, match="removed"):
        await mirror.fetch()


async def test_a_copy_that_could_not_be_put_is_made_anew() -> None:
    place = InMemory(MemoryWorkspace("/w"), Setting(lambda function: None))
    place.memory.write("/w/f", b"old")
    mirror = PlaceMirror(place)
    try:
        await mirror.fetch()
        place.memory.write("/w/f", b"new")
        await mirror.fetch()
        (Path(mirror.directory) / "f").write_bytes(b"old")
        (Path(mirror.directory) / "g").symlink_to("f")
        assert await mirror.put() == {"g"}, "there is no shell in memory that makes links"
        assert place.memory.read("/w/f") == b"old"
        await mirror.fetch()
        assert [one.name for one in Path(mirror.directory).iterdir()] == ["f"]
        (Path(mirror.directory) / "f").write_bytes(b"other")
        place.memory.write("/w/f", b"theirs")
        assert await mirror.put() == {"f"}
        await mirror.fetch()
        assert (Path(mirror.directory) / "f").read_bytes() == b"theirs"
    finally:
        await mirror.close()


async def test_closing_while_it_is_copied_leaves_nothing() -> None:
    place = InMemory(MemoryWorkspace("/w"), Setting(lambda function: None))
    for number in range(200):
        place.memory.write(f"/w/{number}", b"1")
    mirror = PlaceMirror(place)

    async def fetch() -> None:
        with pytest.raises(ToolError):
            await mirror.fetch()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fetch)
        while not Path(mirror.directory).exists() or not list(Path(mirror.directory).iterdir()):
            await anyio.lowlevel.checkpoint()
        await mirror.close()
    assert not Path(mirror.directory).exists()
