from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from agentrt.errors import WorkspaceError
from agentrt.workspaces.asking import ReadArchive, ReadFile
from agentrt.workspaces.local import LocalFiles
from agentrt.workspaces.streaming import PIECE

pytestmark = pytest.mark.simulated


async def pieces(*given: bytes | Exception) -> AsyncIterator[bytes]:
    for piece in given:
        if isinstance(piece, Exception):
            raise piece
        yield piece


async def test_what_is_stored_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path))
    entry, replaced = await files.store("a/b", pieces(b"one ", b"two"))
    assert (entry.path, entry.size, replaced) == ("a/b", 7, False)
    assert (await files.store("a/b", pieces()))[1]
    assert (tmp_path / "a/b").read_bytes() == b""


@pytest.mark.parametrize("failure", [OSError(2, "no such file"), ValueError("odd"), WorkspaceError("path", "odd")])
async def test_a_source_that_fails_leaves_nothing_and_its_error_is_its_own(tmp_path: Path, failure: Exception) -> None:
    (tmp_path / "a").write_text("before")
    with pytest.raises(type(failure)) as raised:
        await LocalFiles(str(tmp_path)).store("a", pieces(b"x" * 3_000_000, failure))
    assert raised.value is failure
    assert [(child.name, child.read_text()) for child in tmp_path.iterdir()] == [("a", "before")]


async def test_what_is_too_large_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError) as refused:
        await LocalFiles(str(tmp_path)).store("a", pieces(b"four", b"four"), 7)
    assert refused.value.code == "file-too-large"
    assert not [*tmp_path.iterdir()]


async def test_one_who_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    begun = anyio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"x" * 3_000_000
        begun.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(LocalFiles(str(tmp_path)).store, "a", endless())
        await begun.wait()
        assert len([*tmp_path.iterdir()]) == 1
        tasks.cancel_scope.cancel()
    assert not [*tmp_path.iterdir()]


async def test_reading_may_be_left(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * (3 * PIECE))
    for wanted in (ReadFile("a"), ReadArchive()):
        async with aclosing(LocalFiles(str(tmp_path)).read(wanted)) as found:
            assert await anext(found)


async def test_an_archive_comes_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content := bytes(range(256)) * 10_000)
    async with aclosing(LocalFiles(str(tmp_path)).read(ReadArchive())) as found:
        data = b"".join([piece async for piece in found])
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        assert made.read("a") == content
