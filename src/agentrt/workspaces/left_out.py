"""`LeftOut`: paths that stood in a workspace but are not in its tree, so their content is unknown. Pure."""

from __future__ import annotations

from collections.abc import Iterable

RECORD = ".agentrt/left-out"
"""Where a tree has the record: at a path of the runtime's own, where no file of the workspace is kept."""


class LeftOut:
    """Paths relative to the workspace; a path that ends in "/" stands for everything below it."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self.paths = frozenset(paths)

    def covers(self, path: str) -> bool:
        """Return whether the paths cover this one, so that a file may have been there."""
        if not self.paths:
            return False
        at = path.find("/")
        while at >= 0:
            if path[: at + 1] in self.paths:
                return True
            at = path.find("/", at + 1)
        return path in self.paths

    def __or__(self, other: LeftOut) -> LeftOut:
        return LeftOut(self.paths | other.paths)

    def encoded(self) -> bytes:
        """Return the record for a tree."""
        return "".join(f"{path}\0" for path in sorted(self.paths)).encode("utf-8", "surrogateescape")


def decoded(data: bytes) -> LeftOut:
    """Decode the record of a tree."""
    return LeftOut(data.decode("utf-8", "surrogateescape").split("\0")[:-1])


def ignored(listed: Iterable[str]) -> list[str]:
    """Return the output of `git ls-files --others --ignored --directory` without the directories that are not ignored
    themselves but contain only ignored paths: git also lists these paths.
    """
    ordered = sorted(listed)
    following = (*ordered[1:], "")
    return [
        path
        for path, after in zip(ordered, following, strict=False)
        if not (path.endswith("/") and after.startswith(path))
    ]
