"""`find_projects`: the directories below a server's workspaces in which a new conversation may work."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from ..sources.place import git_branch
from .schemas import Project

LOOKED_AT = 10_000
"""Maximum number of entries of a directory that are looked at."""

_MADE = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")
"""The name of a directory that was made for one conversation."""


def find_projects(roots: Sequence[Path], typed: str, limit: int) -> tuple[Project, ...]:
    """Return the directories below `roots` whose paths begin with what was typed, by name. For a thread.

    A relative path begins at the first root. Links, hidden directories and those that were made for a conversation are
    left out, and so is what lies elsewhere.
    """
    resolved = [root.resolve() for root in roots]
    if "\0" in typed or not resolved:
        return ()
    parent, begin = os.path.split(typed)
    parents = [Path(os.path.realpath(resolved[0] / parent))] if parent else resolved
    named = (root for root in resolved if typed and str(root).startswith(typed))
    inside = (path for place in parents if _is_below(place, resolved) for path in _directories(place, begin))
    found = {*named, *inside}
    return tuple(islice((_project(path) for path in sorted(found, key=lambda path: path.name.casefold())), limit))


def recent_projects(roots: Sequence[Path], workspaces: Iterable[str], limit: int) -> tuple[Project, ...]:
    """Return those of the workspaces of conversations, the latest first, that can be worked in again. For a thread."""
    resolved = [root.resolve() for root in roots]
    paths = (Path(os.path.realpath(workspace)) for workspace in dict.fromkeys(workspaces))
    kept = (path for path in paths if not _MADE.fullmatch(path.name) and _is_below(path, resolved))
    return tuple(islice((_project(path) for path in kept if os.path.isdir(path)), limit))


def _directories(place: Path, begin: str) -> Iterator[Path]:
    try:
        with os.scandir(place) as entries:
            for entry in islice(entries, LOOKED_AT):
                shown = not entry.name.startswith(".") or begin.startswith(".")
                if (
                    shown
                    and entry.name.casefold().startswith(begin.casefold())
                    and not _MADE.fullmatch(entry.name)
                    and entry.is_dir(follow_symlinks=False)
                ):
                    yield Path(entry.path)
    except OSError:  # it is gone, or may not be read
        return


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def place_of(path: Path) -> Project:
    """Return a directory with the branch of the repository that it is in. For a thread."""
    root = next((one for one in (path, *path.parents) if os.path.exists(one / ".git")), None)
    return Project(path=str(path), repository=root is not None, branch="" if root is None else git_branch(root))


def _project(path: Path) -> Project:
    return Project(path=str(path), repository=os.path.exists(path / ".git"), branch=git_branch(path))
