"""`write_file`."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.specs.content import plain
from agentrt.tools.files import write_file
from agentrt.tools.files.opened import FileEditorObservation
from agentrt.tools.files.write_file import WriteFileAction

from ..context import FakeContext

pytestmark = pytest.mark.simulated


async def wrote(root: Path, path: str, content: str) -> FileEditorObservation:
    """One call."""
    done = await write_file.executor({})(WriteFileAction(path, content), FakeContext(root))
    assert isinstance(done, FileEditorObservation)
    return done


async def test_a_new_file_and_an_old_one(tmp_path: Path) -> None:
    made = await wrote(tmp_path, "new/a.txt", "one\n")
    assert plain(made.content) == f"Created {tmp_path}/new/a.txt."
    assert (made.prev_exist, made.new_content) == (False, "one\n")
    (tmp_path / "new/a.txt").chmod(0o750)
    again = await wrote(tmp_path, f"{tmp_path}/new/a.txt", "two\n")
    assert plain(again.content) == f"Wrote {tmp_path}/new/a.txt."
    assert "-one\n+two" in again.diff
    assert (tmp_path / "new/a.txt").read_text() == "two\n"
    assert (tmp_path / "new/a.txt").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(("before", "after"), [(b"a\r\nb\r\n", b"x\r\ny\r\n"), ("é".encode("latin-1"), b"x\ny\n")])
async def test_it_stays_stored_as_it_was(tmp_path: Path, before: bytes, after: bytes) -> None:
    (tmp_path / "a").write_bytes(before)
    await wrote(tmp_path, "a", "x\ny\n")
    assert (tmp_path / "a").read_bytes() == after


async def test_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "bin").write_bytes(b"\0")
    for path, why in ((".", "is a directory"), ("bin", "binary file"), ("bin/x", "Not a directory")):
        with pytest.raises(ToolError, match=why):
            await wrote(tmp_path, path, "x")
    assert (tmp_path / "bin").read_bytes() == b"\0"
