"""The facts of a place."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentrt.sources.place import facts_of, git_branch
from agentrt.specs import DockerWorkspace, LocalWorkspace

pytestmark = pytest.mark.simulated


def git(place: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(place), *identity, *arguments], check=True, capture_output=True)


@pytest.mark.real
def test_the_branch_of_a_repository_of_a_worktree_and_of_none(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    assert git_branch(place) == ""
    git(place, "init", "-q", "-b", "trunk")
    assert git_branch(place) == "trunk"
    git(place, "commit", "-q", "--allow-empty", "-m", "first")
    git(place, "worktree", "add", "-q", "-b", "feature/x", str(tmp_path / "tree"))
    assert git_branch(tmp_path / "tree") == "feature/x"
    git(place, "checkout", "-q", "--detach")
    assert len(git_branch(place)) == 12


def test_what_an_agent_is_told(tmp_path: Path) -> None:
    facts = facts_of(LocalWorkspace(str(tmp_path)), tmp_path, current=False)
    assert (facts.directory, facts.datetime, facts.git_branch) == (str(tmp_path), "", "")
    assert facts.platform.startswith("Linux")
    contained = facts_of(DockerWorkspace(str(tmp_path), "python:3.13"), tmp_path, current=True)
    assert contained.platform.startswith("a Linux container of the image python:3.13 without a network")
    assert len(contained.datetime) > 15


def test_a_head_that_is_no_file_or_no_name_is_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git/HEAD")
    assert git_branch(tmp_path) == ""
    (tmp_path / ".git/HEAD").unlink()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/x\n\n# Orders of the user\n")
    assert git_branch(tmp_path) == ""
