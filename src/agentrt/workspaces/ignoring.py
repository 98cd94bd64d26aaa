"""Marks the files of a workspace that its ignore files exclude by git's rules, with or without a repository there."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ..sandboxes.entries import FileEntry
from ..sandboxes.here import THIS_MACHINE
from ..sandboxes.programs import printed
from ..scratch import runtime_directory

SECONDS = 5.0
"""Time limit of git for the files of a directory."""

OUTPUT = 4 << 20
"""Maximum number of bytes of git's output."""

OURS = frozenset({".git", ".agentrt"})
"""Directories that always count as ignored, because they contain nobody's work."""


async def marked(workspace: str, entries: Sequence[FileEntry]) -> tuple[FileEntry, ...]:
    """Return the entries of a directory with ignored ones marked; if git cannot be run, only those of `OURS` are."""
    paths = [entry.path + ("/" if entry.type == "directory" else "") for entry in entries]
    ignored = await _ignored(workspace, paths) if paths else ()
    return tuple(
        replace(entry, ignored=True) if path in ignored or OURS & {*path.split("/")} else entry
        for entry, path in zip(entries, paths, strict=True)
    )


async def _ignored(workspace: str, paths: Sequence[str]) -> Collection[str]:
    """Return the paths that are ignored. Git has a directory of its own, so it runs nothing of the workspace's."""
    command = ("git", "--no-optional-locks", "check-ignore", "--no-index", "-z", "--stdin")
    given = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    async with runtime_directory.temporary("git-") as made:
        environment = {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": made,
            "GIT_DIR": made,
            "GIT_WORK_TREE": workspace,
        }
        try:
            await anyio.to_thread.run_sync(_prepare, Path(made))
            said = await printed(
                THIS_MACHINE,
                command,
                cwd=workspace,
                environment=environment,
                seconds=SECONDS,
                most=OUTPUT,
                given=given,
                reads=(made,),
            )
        except (OSError, TimeoutError):
            return ()
    return set(said.output.decode("utf-8", "surrogateescape").split("\0"))


def _prepare(made: Path) -> None:
    """Make the directory one that git takes for a repository. For a thread."""
    (made / "config").write_text("[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n")
    (made / "HEAD").write_text("ref: refs/heads/none\n")
    for name in ("objects", "refs"):
        (made / name).mkdir()
