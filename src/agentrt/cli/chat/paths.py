"""The paths of a workspace that are offered after an @."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import PurePosixPath

from ...tools.search import program

MOST = 20_000
"""Maximum number of files that are listed."""

OFFERED = 50
"""Maximum number of paths that are offered."""


def listed(root: str, most: int = MOST) -> list[str]:
    """Return the directories and at most `most` files below a directory, without those that ignore files name.

    This reads directories: run it in a thread.
    """
    try:
        files = [path.rstrip("\0") for path in islice(program.run(program.Request(root, "")), most)]
    except OSError:
        return []
    above = {f"{parent}/" for path in files for parent in PurePosixPath(path).parents if parent != PurePosixPath(".")}
    return sorted(above) + sorted(files)


def fitting(paths: Iterable[str], typed: str, most: int = OFFERED) -> Sequence[str]:
    """Return the paths that match what was typed, the best first: by their beginning, by the name's beginning, by a
    substring, or by letters in order. Pure.
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
