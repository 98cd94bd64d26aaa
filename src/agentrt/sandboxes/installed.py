"""The programs that this process starts for itself, such as git: found once, by absolute path, never below a workspace.

An agent can write in its workspace, and `PATH` may name a directory there: `.venv/bin` of an active virtual
environment, `node_modules/.bin`, or `.`. A program that is found there would run without a rating and without a
question. This is about programs of our own: a command of an agent finds its programs as a person's command does.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Set

SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/nix", "/snap")
"""Directories of the system. They are searched even if a workspace is above one of them, such as `/`."""


class Programs:
    """The installed programs, and the workspaces that are known so far."""

    def __init__(self) -> None:
        self._workspaces = set[str]()
        """Without those that are in another one: a server names the directory of all its workspaces first."""
        self._found = dict[tuple[str, str], str]()
        """By name and `PATH`."""
        self._paths = dict[str, str]()
        """The directories that are searched, by `PATH`."""

    def keep_out(self, workspace: str) -> None:
        """Never start a program of our own from below this directory. For a thread."""
        new = {path for path in _names_of(workspace) if not _is_within(path, self._workspaces)}
        if not new:
            return
        self._workspaces |= new
        if any(_is_below(place, new) for place in (*_directories(), *self._found.values())):
            self._paths.clear()
            self._found.clear()

    def find(self, name: str) -> str:
        """Return the absolute path of a program. The same path is returned as long as this process lives.

        Raises `FileNotFoundError` if it is not installed outside of the workspaces.
        """
        key = (name, _path())
        if key not in self._found:
            self._found[key] = self._look_up(name)
        return self._found[key]

    def search_path(self) -> str:
        """Return `PATH` without the directories of workspaces, for a program that starts others.

        Directories that belong to some other project come last: an agent may have worked there before this process
        began.
        """
        path = _path()
        if path not in self._paths:
            trusted = [place for place in _directories() if not _is_below(place, self._workspaces)]
            self._paths[path] = os.pathsep.join(sorted(trusted, key=_is_of_project))
        return self._paths[path]

    def _look_up(self, name: str) -> str:
        for place in self.search_path().split(os.pathsep) if os.sep not in name else ():
            program = shutil.which(name, path=place)
            if program is not None and not _is_below(program, self._workspaces):
                return program
        raise FileNotFoundError(errno.ENOENT, f"{name} is not installed, or only in a workspace", name)


_programs = Programs()
"""Those of this process, as its `PATH` is."""


def keep_out(workspace: str) -> None:
    """Never start a program of this process's own from below a workspace. For a thread."""
    _programs.keep_out(workspace)


def installed(name: str) -> str:
    """Return the absolute path of a program. Raises `FileNotFoundError` if it is not installed outside of the
    workspaces.
    """
    return _programs.find(name)


def is_installed(name: str) -> bool:
    """Return whether `installed` finds a program of that name."""
    try:
        installed(name)
    except FileNotFoundError:
        return False
    return True


def search_path() -> str:
    """Return this process's `PATH` without the directories of workspaces."""
    return _programs.search_path()


def _path() -> str:
    return os.environ.get("PATH", os.defpath)


def _directories() -> list[str]:
    """Return the directories of `PATH`. A relative one is left out: it would be one of the directory of a process."""
    return [place for place in dict.fromkeys(_path().split(os.pathsep)) if os.path.isabs(place)]


def _names_of(place: str) -> set[str]:
    return {os.path.abspath(place), os.path.realpath(place)}


def _is_below(path: str, workspaces: Set[str]) -> bool:
    """Return whether a path, or the place where it leads, is in one of the workspaces."""
    return any(_is_within(place, workspaces) for place in _names_of(path))


def _is_within(place: str, workspaces: Set[str]) -> bool:
    """Return whether a place is in one of the workspaces. A workspace above the system does not hold the system."""
    above = place
    while above not in workspaces or _skips(above, place):
        if above in ("/", ""):
            return False
        above = above.rpartition("/")[0] or "/"
    return True


def _skips(workspace: str, place: str) -> bool:
    return any(is_in(root, workspace) and is_in(place, root) for root in SYSTEM)


def is_in(place: str, above: str) -> bool:
    """Return whether an absolute path is a directory or below it."""
    return place == above or place.startswith(f"{above.rstrip('/')}/")


def _is_of_project(place: str) -> bool:
    """Return whether a directory belongs to a repository or to a virtual environment."""
    above = os.path.realpath(place)
    if os.path.exists(os.path.join(os.path.dirname(above), "pyvenv.cfg")):
        return True
    while above != os.path.dirname(above):
        if os.path.exists(os.path.join(above, ".git")):
            return True
        above = os.path.dirname(above)
    return False
