"""`edit`."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.specs.content import plain
from agentrt.tools.files import edit
from agentrt.tools.files.edit import EditAction
from agentrt.tools.files.opened import FileEditorObservation

from ..context import FakeContext

pytestmark = pytest.mark.simulated


async def edits(root: Path, old: str, new: str, times: int = 1, path: str = "a") -> FileEditorObservation:
    """One call."""
    done = await edit.executor({})(EditAction(path, old, new, times), FakeContext(root))
    assert isinstance(done, FileEditorObservation)
    return done


async def test_a_text_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\r\ntwo\r\n")
    done = await edits(tmp_path, "one\ntwo", "1\n2")
    assert (tmp_path / "a").read_bytes() == b"1\r\n2\r\n"
    assert plain(done.content).endswith("Around the first change:\n     1\t1\n     2\t2")
    assert "-one" in done.diff


async def test_as_often_as_is_expected(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x x x\n")
    with pytest.raises(ToolError, match="occurs 3 times in .*, not 2: nothing was replaced"):
        await edits(tmp_path, "x", "y", 2)
    with pytest.raises(ToolError, match="old_string occurs 3 times"):
        await edits(tmp_path, "x", "y")
    await edits(tmp_path, "x", "y", 3)
    assert (tmp_path / "a").read_text() == "y y y\n"


async def test_a_new_file(tmp_path: Path) -> None:
    done = await edits(tmp_path, "", "one\n", path="deep/b")
    assert (tmp_path / "deep/b").read_text() == "one\n"
    assert not done.prev_exist
    with pytest.raises(ToolError, match="exists already"):
        await edits(tmp_path, "", "two\n", path="deep/b")


async def test_other_white_space_is_forgiven_and_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("if x:  \n    y\n")
    assert "old_string differs from the file in white space" in plain(
        (await edits(tmp_path, "if x:\n    y", "z")).content
    )


async def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    for old, new, path, why in (
        ("q", "z", "a", "old_string does not occur"),
        ("x", "x", "a", "old_string and new_string are the same"),
        ("x", "y", "gone", "does not exist"),
        ("x", "y", ".", "is a directory"),
    ):
        with pytest.raises(ToolError, match=why):
            await edits(tmp_path, old, new, path=path)
    assert (tmp_path / "a").read_text() == "x\n"
