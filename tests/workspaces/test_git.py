"""What git says of a workspace, in repositories of each object format."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentrt.workspaces import git

pytestmark = pytest.mark.real


def run(place: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false")
    subprocess.run(["git", *identity, *words], cwd=place, check=True, capture_output=True)


@pytest.mark.parametrize("objects", ["sha1", "sha256"])
async def test_changes_are_told_before_the_first_commit_and_after(tmp_path: Path, objects: str) -> None:
    run(tmp_path, "init", "-q", "-b", "trunk", f"--object-format={objects}")
    (tmp_path / "a").write_text("one\n")
    run(tmp_path, "add", "a")
    (tmp_path / "b").write_text("two\n")
    found = await git.changes(str(tmp_path))
    assert (found.head, found.branch) == (None, "trunk")
    assert [(item.path, item.status) for item in found.items] == [("a", "added"), ("b", "untracked")]
    diff = await git.diff(str(tmp_path), "")
    assert "+one\n" in diff.diff
    assert "+two\n" in diff.diff
    run(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / "a").write_text("three\n")
    found = await git.changes(str(tmp_path))
    assert len(found.head or "") == {"sha1": 40, "sha256": 64}[objects]
    assert [(item.path, item.status) for item in found.items] == [("a", "modified"), ("b", "untracked")]
    assert "-one\n+three\n" in (await git.diff(str(tmp_path), "a")).diff


async def test_a_change_of_equal_size_within_the_second_of_the_index_is_seen(tmp_path: Path) -> None:
    """The times are set, since a slow machine would be needed otherwise."""
    file, then = tmp_path / "a", (1_600_000_000, 1_600_000_000)

    def write(text: str) -> int:
        file.write_text(text)
        os.utime(file, then)
        return int(file.stat().st_ctime)

    run(tmp_path, "init", "-q")
    while True:
        begun = write("one\n")
        run(tmp_path, "add", "a")
        run(tmp_path, "commit", "-q", "-m", "first")
        os.utime(tmp_path / ".git/index", then)
        if write("two\n") == begun:
            break
        run(tmp_path, "update-ref", "-d", "HEAD")
    assert [(item.path, item.status) for item in (await git.changes(str(tmp_path))).items] == [("a", "modified")]
