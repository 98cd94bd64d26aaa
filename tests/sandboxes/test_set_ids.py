"""Set-user-id bits in a workspace are taken away, and nothing outside of it is touched."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentrt.sandboxes.set_ids import clear_set_ids

pytestmark = pytest.mark.simulated


def bits(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_bits_of_files_are_cleared_however_deep(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o4755)
    root = tmp_path / "work"
    deep = root
    for _ in range(30):
        deep = deep / "d"
    deep.mkdir(parents=True)
    for place, mode in ((root / "a", 0o4755), (root / ".b", 0o2755), (deep / "c", 0o6711), (root / "plain", 0o755)):
        place.write_text("x")
        place.chmod(mode)
    (root / "link").symlink_to(outside)
    (root / "up").symlink_to(tmp_path)
    (root / "shared").mkdir()
    (root / "shared").chmod(0o2775)
    assert clear_set_ids(str(root)) == 3
    assert [bits(path) for path in (root / "a", root / ".b", deep / "c", root / "plain")] == [
        0o755,
        0o755,
        0o711,
        0o755,
    ]
    assert bits(outside) == 0o4755
    assert bits(root / "shared") & stat.S_ISGID, "of a directory it only hands its group on"
    assert clear_set_ids(str(root)) == 0


def test_many_directories_side_by_side_are_all_looked_into(tmp_path: Path) -> None:
    for number in range(1500):
        (tmp_path / str(number)).mkdir()
    last = tmp_path / "1499" / "x"
    last.write_text("x")
    last.chmod(0o4755)
    assert clear_set_ids(str(tmp_path)) == 1


def test_a_workspace_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        clear_set_ids(str(tmp_path / "gone"))
