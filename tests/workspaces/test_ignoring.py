"""What ignore files leave out is marked, with or without a repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.workspaces import FileList
from agentrt.workspaces.asking import ListFiles
from agentrt.workspaces.local import LocalFiles

pytestmark = pytest.mark.real


async def _ignored(root: Path, path: str = "") -> list[str]:
    found = await LocalFiles(str(root)).ask(ListFiles(path=path))
    assert isinstance(found, FileList)
    return [entry.path for entry in found.items if entry.ignored]


async def test_lines_of_all_directories_on_the_way_count(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    for name in ("build", "src", ".git"):
        (tmp_path / name).mkdir()
    (tmp_path / "src" / ".gitignore").write_text("*.tmp\n")
    for name in ("a.log", "keep.log", "new\nline.log", "src/a.tmp", "src/b.py", "build/out.bin"):
        (tmp_path / name).write_text("x")
    assert await _ignored(tmp_path) == [".git", "build", "a.log", "new\nline.log"]
    assert await _ignored(tmp_path, "src") == ["src/a.tmp"]
    assert await _ignored(tmp_path, "build") == ["build/out.bin"]


@pytest.mark.simulated
async def test_nothing_is_ignored_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".gitignore").write_text("*\n")
    (tmp_path / "a").write_text("x")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await _ignored(tmp_path) == []


async def test_a_repository_runs_nothing_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    ran = tmp_path / "ran"
    (tmp_path / ".git" / "config").write_text(f"[core]\n\tfsmonitor = touch {ran}\n\texcludesFile = /etc/passwd\n")
    (tmp_path / "a").write_text("x")
    assert await _ignored(tmp_path) == [".git"]
    assert not ran.exists()
