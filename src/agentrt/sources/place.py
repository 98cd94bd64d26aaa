"""The facts about the place where an agent works: its directory, the platform, the git branch; for a thread."""

from __future__ import annotations

import platform
import re
from datetime import datetime
from pathlib import Path

from ..specs.context import Facts
from ..specs.workspace import WorkspaceSpec
from .text import beginning_of

_HEAD = "ref: refs/heads/"
_NAME = re.compile(r"[\w./#@+=-]{1,200}")


def facts_of(workspace: WorkspaceSpec, root: Path, current: str | bool) -> Facts:
    """Return what an agent is told about the place. `root` is the root of the repository; `current` is the time, or
    whether to tell the time.
    """
    return Facts(
        directory=workspace.path,
        platform=_platform(workspace),
        git_branch=git_branch(root),
        datetime=current if isinstance(current, str) else _now() if current else "",
    )


def git_branch(root: Path) -> str:
    """Return the branch that is checked out, or the commit; "" without a repository. Runs no program."""
    place = root / ".git"
    try:
        if place.is_file():  # of a worktree or a submodule: it names the directory
            place = root / beginning_of(place).partition("gitdir:")[2].strip()
        head = beginning_of(place / "HEAD").strip()
    except (OSError, ValueError):
        return ""
    branch = head.removeprefix(_HEAD) if head.startswith(_HEAD) else head[:12]
    return branch if _NAME.fullmatch(branch) else ""


def _platform(workspace: WorkspaceSpec) -> str:
    return workspace.told or f"{platform.system()} {platform.release()} ({platform.machine()})"


def _now() -> str:
    return datetime.now().astimezone().isoformat(sep=" ", timespec="minutes")
