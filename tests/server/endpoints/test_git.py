from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentrt.testing import ScriptedLLM

from ..served import Client, served
from .helpers import begin

pytestmark = pytest.mark.real


def git(place: Path, *arguments: str) -> None:
    """The real git, with settings of nobody."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    subprocess.run(["git", *arguments], cwd=place, env=environment, check=True, capture_output=True)


async def repository(client: Client, directory: Path) -> tuple[str, Path]:
    """A conversation whose workspace is a repository with a commit of three files."""
    made = await begin(client)
    place = directory / "workspaces" / made["id"]
    git(place, "init", "-q", "-b", "trunk")
    for name in ("kept", "changed", "gone"):
        (place / name).write_text(f"{name}\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "first")
    return f"/conversations/{made['id']}/git", place


def work(place: Path) -> None:
    """What an agent may do."""
    (place / "changed").write_text("other\n")
    (place / "gone").unlink()
    (place / "né w").write_text("new\n")
    git(place, "mv", "kept", "moved")


async def test_changes_since_the_last_commit(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        base, place = await repository(client, tmp_path)
        work(place)
        status, found = await client.ask("GET", f"{base}/changes")
        assert (status, found["branch"], len(found["head"])) == (200, "trunk", 40)
        assert sorted((c["path"], c["status"], c["origin"]) for c in found["items"]) == [
            ("changed", "modified", None),
            ("gone", "deleted", None),
            ("moved", "renamed", "kept"),
            ("né w", "untracked", None),
        ]


async def test_the_diff_has_new_files_and_leaves_the_repository_alone(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        base, place = await repository(client, tmp_path)
        work(place)
        before = {path: path.read_bytes() for path in (place / ".git").rglob("*") if path.is_file()}
        _, found = await client.ask("GET", f"{base}/diff")
        assert "-changed\n+other\n" in found["diff"]
        assert "+++ b/né w" in found["diff"]
        assert "rename to moved" in found["diff"]
        assert not found["truncated"]
        _, found = await client.ask("GET", f"{base}/diff?path=changed")
        assert found["diff"].count("diff --git") == 1
        assert (await client.ask("GET", f"{base}/diff?path=nothing"))[1]["diff"] == ""
        assert (await client.ask("GET", f"{base}/diff?path=../x"))[1]["code"] == "path-outside"
        assert {path: path.read_bytes() for path in (place / ".git").rglob("*") if path.is_file()} == before


async def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        made = await begin(client)
        place, base = tmp_path / "workspaces" / made["id"], f"/conversations/{made['id']}/git"
        assert (await client.ask("GET", f"{base}/changes"))[1]["code"] == "git-missing"
        git(place, "init", "-q", "-b", "trunk")
        (place / "a").write_text("a\n")
        (place / "b").write_text("b\n")
        git(place, "add", "a")
        _, found = await client.ask("GET", f"{base}/changes")
        assert (found["head"], found["branch"]) == (None, "trunk")
        assert [(c["path"], c["status"]) for c in found["items"]] == [("a", "added"), ("b", "untracked")]
        _, found = await client.ask("GET", f"{base}/diff")
        assert "+a\n" in found["diff"]
        assert "+b\n" in found["diff"]


async def test_nothing_that_the_repository_names_is_run(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        base, place = await repository(client, tmp_path)
        ran = tmp_path / "ran"
        script = place / "evil.sh"
        script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
        script.chmod(0o755)
        (place / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
        for key in (
            "filter.evil.clean",
            "filter.evil.smudge",
            "filter.evil.process",
            "diff.evil.command",
            "diff.evil.textconv",
            "diff.external",
            "core.fsmonitor",
            "core.pager",
            "core.sshCommand",
            "alias.status",
            "alias.diff",
            "credential.helper",
            "gpg.program",
        ):
            git(place, "config", key, str(script))
        git(place, "config", "core.hooksPath", str(place / "hooks"))
        (place / "hooks").mkdir()
        for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
            (place / "hooks" / hook).write_text(script.read_text())
            (place / "hooks" / hook).chmod(0o755)
        (place / "changed").write_text("other\n")
        assert (await client.ask("GET", f"{base}/changes"))[0] == 200
        _, found = await client.ask("GET", f"{base}/diff")
        assert "-changed\n+other\n" in found["diff"]
        assert not ran.exists()


async def test_a_repository_elsewhere_is_none(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        git(tmp_path / "workspaces", "init", "-q")  # one around the workspace
        base, place = await repository(client, tmp_path)
        made = await begin(client)
        other, where = tmp_path / "workspaces" / made["id"], f"/conversations/{made['id']}/git/changes"
        assert (await client.ask("GET", where))[1]["code"] == "git-missing"
        (other / ".git").symlink_to(place / ".git")
        assert (await client.ask("GET", where))[1]["code"] == "git-missing"
        (other / ".git").unlink()
        (other / ".git").write_text(f"gitdir: {place / '.git'}\n")
        assert (await client.ask("GET", where))[1]["code"] == "git-missing"
        assert (await client.ask("GET", f"{base}/changes"))[0] == 200
