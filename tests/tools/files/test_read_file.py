"""`read_file`."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.secrets import HIDDEN, SecretRegistry
from agentrt.specs import ImageContent
from agentrt.specs.content import plain
from agentrt.tools.files import read_file
from agentrt.tools.files.read_file import MAX_LINES, MAX_SHOWN, ReadFileAction, ReadFileObservation

from ..context import FakeContext
from .test_file_editor import PIXEL

pytestmark = pytest.mark.simulated


async def seen(
    context: FakeContext, path: str, offset: int | None = None, limit: int | None = None
) -> ReadFileObservation:
    """One call."""
    found = await read_file.executor({})(ReadFileAction(path, offset, limit), context)
    assert isinstance(found, ReadFileObservation)
    return found


async def test_a_text_is_shown_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n\ttwo\nthree")
    for path in ("a", str(tmp_path / "a"), "b/../a"):
        found = await seen(FakeContext(tmp_path), path)
        assert plain(found.content) == "one\n\ttwo\nthree"
        assert (found.first, found.last, found.total_lines) == (1, 3, 3)
    (tmp_path / "empty").touch()
    assert plain((await seen(FakeContext(tmp_path), "empty")).content) == f"[{tmp_path}/empty is empty]"


async def test_some_of_its_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(MAX_LINES + 5)))
    context = FakeContext(tmp_path)
    assert plain((await seen(context, "a", 2, 2)).content) == "2\n3\n[lines 3 to 4 of 1005: go on with offset 4]"
    assert plain((await seen(context, "a", 1003)).content) == "1003\n1004\n"
    first = await seen(context, "a")
    assert (first.first, first.last) == (1, MAX_LINES)
    assert plain(first.content).endswith("\n999\n[lines 1 to 1000 of 1005: go on with offset 1000]")


async def test_long_lines_are_fewer(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"{'x' * 10_000}\n" * 5)
    found = await seen(FakeContext(tmp_path), "a")
    assert found.last == 2
    (tmp_path / "b").write_text("x" * 100_000)
    assert len(plain((await seen(FakeContext(tmp_path), "b")).content)) <= MAX_SHOWN


async def test_an_image(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(PIXEL)
    (block,) = (await seen(FakeContext(tmp_path), "a.gif")).content
    assert isinstance(block, ImageContent)


async def test_secrets_are_masked(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("TOKEN=hunter2-and-more\n")
    context = FakeContext(tmp_path, registry=SecretRegistry({"TOKEN": "hunter2-and-more"}))
    assert plain((await seen(context, "env")).content) == f"TOKEN={HIDDEN}\n"


@pytest.mark.parametrize(
    ("path", "offset", "why"),
    [("gone", None, "does not exist"), (".", None, "is a directory"), ("a", 9, "past the end .* 1 lines"),
     ("", None, "empty"), ("a\0", None, "NUL"), ("bin", None, "binary file")],
)  # fmt: skip
async def test_what_cannot_be_read(tmp_path: Path, path: str, offset: int | None, why: str) -> None:
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "bin").write_bytes(b"\0")
    with pytest.raises(ToolError, match=why):
        await seen(FakeContext(tmp_path), path, offset)
