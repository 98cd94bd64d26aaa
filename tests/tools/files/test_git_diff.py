"""`git_diff`, on a real repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentrt.errors import ToolError
from agentrt.specs.content import plain
from agentrt.tools.files import git_diff
from agentrt.tools.files.git_diff import GitDiffAction

from ..context import FakeContext

pytestmark = pytest.mark.real


def git(place: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=place, check=True)


async def shown(place: Path, path: str = "", base: str = "") -> str:
    return plain((await git_diff.executor({})(GitDiffAction(path, base), FakeContext(place))).content)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "trunk")
    (tmp_path / "a").write_text("one\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "branch", "start")
    (tmp_path / "a").write_text("two\n")
    git(tmp_path, "commit", "-qam", "second")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b").write_text("new\n")
    return tmp_path


async def test_what_has_changed(repository: Path) -> None:
    said = await shown(repository)
    assert said.startswith("On trunk at ")
    assert "untracked: sub/b" in said
    assert "+new" in said
    assert "-one" not in said
    assert "-one\n+two" in await shown(repository, base="start")
    assert "[no difference]" in await shown(repository, "a")
    assert "-one\n+two" in await shown(repository, "a", "HEAD~1")


@pytest.mark.parametrize("base", ["nowhere", "--output=canary", "a\0b", "HEAD~9"])
async def test_an_unknown_commit_is_refused(repository: Path, base: str) -> None:
    with pytest.raises(ToolError, match="commit"):
        await shown(repository, base=base)
    assert not (repository / "canary").exists()


async def test_without_a_repository_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"no \.git directory"):
        await shown(tmp_path)
