"""`LeftOut`: what stood in a workspace, but is not in the tree that was kept of it: what it was is not known. Pure."""

from __future__ import annotations

from collections.abc import Iterable

RECORD = ".agentrt/left-out"
"""Where a tree has it: at a path of the runtime's own, of which no file is kept."""


class LeftOut:
    """Paths, from the workspace on; one that ends in "/" stands for all that is below."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self.paths = frozenset(paths)

    def covers(self, path: str) -> bool:
        """Whether a file at a path may have been there."""
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
        """For a tree to have."""
        return "".join(f"{path}\0" for path in sorted(self.paths)).encode("utf-8", "surrogateescape")


def decoded(data: bytes) -> LeftOut:
    """What a tree has."""
    return LeftOut(data.decode("utf-8", "surrogateescape").split("\0")[:-1])


def ignored(listed: Iterable[str]) -> list[str]:
    """What `git ls-files --others --ignored --directory` says, without the directories that are not ignored themselves,
    but have nothing else in them: what is in those it names, too.
    """
    ordered = sorted(listed)
    following = (*ordered[1:], "")
    return [
        path
        for path, after in zip(ordered, following, strict=False)
        if not (path.endswith("/") and after.startswith(path))
    ]
