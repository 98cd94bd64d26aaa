"""`list_directory`."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.specs.content import plain
from agentrt.tools.files import list_directory
from agentrt.tools.files.list_directory import MAX_ENTRIES, ListDirectoryAction

from ..context import FakeContext

pytestmark = pytest.mark.simulated


async def listed(root: Path, path: str = ".", recursive: bool = False) -> list[str]:
    """The lines that the model sees."""
    found = await list_directory.executor({})(ListDirectoryAction(path, recursive), FakeContext(root))
    return plain(found.content).split("\n")


async def test_what_is_in_a_directory(tmp_path: Path) -> None:
    (tmp_path / "sub/deep").mkdir(parents=True)
    (tmp_path / "sub/x").write_text("12345")
    (tmp_path / ".hidden").touch()
    (tmp_path / "link").symlink_to("sub")
    (tmp_path / "broken").symlink_to("nowhere")
    here = [f"{tmp_path}:", "link/ (a link)", "sub/", ".hidden (0 bytes)", "broken (a link)"]
    assert await listed(tmp_path) == here
    assert await listed(tmp_path, recursive=True) == [*here[:3], "sub/deep/", "sub/x (5 bytes)", *here[3:]]
    assert await listed(tmp_path, "sub/deep") == [f"{tmp_path}/sub/deep:", "[it is empty]"]


async def test_not_all_of_very_much(tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES + 1):
        (tmp_path / f"{number:04}").touch()
    lines = await listed(tmp_path)
    assert len(lines) == MAX_ENTRIES + 2
    assert lines[-1] == "[500 of 501 entries: list a directory below, or use glob]"


@pytest.mark.parametrize(("path", "why"), [("gone", "No such file"), ("f", "Not a directory"), ("a\0", "NUL")])
async def test_what_is_no_directory(tmp_path: Path, path: str, why: str) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(ToolError, match=why):
        await listed(tmp_path, path)
