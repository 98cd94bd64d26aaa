"""`RatedEnds`: where the paths of a rated action may lead.

An agent can make a link in its workspace that leads to any file. So what is rated is the place where a path really
ends, and for a rated action nothing else is opened. It needs nothing but Python 3.9: `by_command` sends its source to
other machines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from posixpath import normpath


class Unrated(Exception):
    """Raised for a path that leads where its rating did not see; its text says what to do."""


class RatedEnds:
    """The places that may be opened for the paths of an action: those that its rating has seen."""

    def __init__(self, workspace: str, ends: Mapping[str, str]) -> None:
        """`ends` has the paths that lead elsewhere than they say, each with the place where it led."""
        self._workspace, self._ends = workspace, ends

    def check(self, path: str, real: str) -> None:
        """Raise `Unrated` if an absolute path leads to `real`, which was not rated."""
        if real == path:
            return
        end = named(real, self._workspace, _real(self._workspace))
        if end == path or end == self._ends.get(path):
            return
        above, name = os.path.split(path)
        if any(end == os.path.join(os.path.split(to)[0], name) for at, to in self._ends.items() if _is_in(at, above)):
            return  # a file beside one that was rated
        raise Unrated(f"{path} leads to {end}, and was not rated as that: call the tool with the path {end}")

    def check_before(self, path: str) -> None:
        """Do the same for the place where an absolute path leads now, before anything is made on the way."""
        self.check(path, _real(path))


def _is_in(path: str, directory: str) -> bool:
    return os.path.split(path)[0] == directory


def end_of(path: str, workspace: str) -> str:
    """Return the absolute path, without links, of what an absolute path leads to, or would create.

    A workspace that is reached by a link keeps its name. This takes a few system calls, and no more for a path that
    exists, so it need not be in a thread.
    """
    real = _real(path)
    return path if real == path else named(real, workspace, _real(workspace))


def named(real: str, workspace: str, root: str) -> str:
    """Return a path without links as it is called in a workspace, whose own path without links is `root`."""
    workspace = normpath(workspace)
    if root != workspace and (real == root or real.startswith(f"{root}/")):
        return f"{workspace}{real[len(root) :]}"
    return real


def _real(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError):  # it is not there, or dangles
        return os.path.realpath(path.replace("\0", ""))
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
