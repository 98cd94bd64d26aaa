"""The paths of a workspace that are offered after an @."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import PurePosixPath

from ...tools.search import program

MOST = 20_000
"""Files that are looked at."""

OFFERED = 50
"""Paths that are offered."""


def listed(root: str, most: int = MOST) -> list[str]:
    """The directories and the files below a directory, without those that ignore files name; at most so many files.

    It reads directories: run it in a thread.
    """
    try:
        files = [path.rstrip("\0") for path in islice(program.run(program.Request(root, "")), most)]
    except OSError:
        return []
    above = {f"{parent}/" for path in files for parent in PurePosixPath(path).parents if parent != PurePosixPath(".")}
    return sorted(above) + sorted(files)


def fitting(paths: Iterable[str], typed: str, most: int = OFFERED) -> Sequence[str]:
    """The paths that fit what was typed, the best first: by how they begin, by the name's beginning, by a part, by
    letters in their order. Pure.
    """
    wanted = typed.casefold().removeprefix("./")
    found: list[tuple[int, int, str]] = []
    for path in paths:
        if (rank := _rank(path.casefold(), wanted)) is not None:
            found.append((rank, path.rstrip("/").count("/"), path))
    return [path for _, _, path in sorted(found)[:most]]


def _rank(path: str, wanted: str) -> int | None:
    if path.startswith(wanted):
        return 0
    name = path.rstrip("/").rpartition("/")[2]
    if name.startswith(wanted):
        return 1
    if wanted in path:
        return 2
    letters = iter(path)
    return 3 if len(wanted) > 2 and all(letter in letters for letter in wanted) else None
