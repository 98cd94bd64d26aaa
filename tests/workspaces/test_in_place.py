"""Files that have several names."""

from __future__ import annotations

import os
import resource
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.specs import LocalWorkspace
from agentrt.workspaces.reached import ReachedFiles


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """A disk, as it were, on which no file grows beyond a size."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("data", [b"longer than before\n", b"", b"x"])
def test_a_file_stays_one_under_all_its_names(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_text("before\n")
    (tmp_path / "a").chmod(0o4755)
    os.link(tmp_path / "a", tmp_path / "b")
    ReachedFiles(LocalWorkspace(str(tmp_path))).write(str(tmp_path / "a"), data)
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes() == data
    assert os.path.samefile(tmp_path / "a", tmp_path / "b")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o4755


def test_a_file_with_one_name_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before\n")
    before = (tmp_path / "a").stat().st_ino
    with (tmp_path / "a").open() as reader:
        ReachedFiles(LocalWorkspace(str(tmp_path))).write(str(tmp_path / "a"), b"x")
        assert reader.read() == "before\n"
    assert (tmp_path / "a").stat().st_ino != before


def test_a_disk_that_is_full_leaves_it_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before\n")
    os.link(tmp_path / "a", tmp_path / "b")
    with no_file_larger_than(1000), pytest.raises(ToolError, match="File too large"):
        ReachedFiles(LocalWorkspace(str(tmp_path))).write(str(tmp_path / "a"), b"x" * 5000)
    assert (tmp_path / "b").read_text() == (tmp_path / "a").read_text() == "before\n"
