"""Restores files: puts some in their place, removes some, and leaves some as they are. For a thread."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha1
from pathlib import PurePosixPath

from ..errors import WorkspaceError
from ..sandboxes.beneath import Beneath
from .tree_index import STAGING
from .tree_listing import Change

_PIECE = 1 << 20


def put(workspace: str, staging: str, changes: Sequence[Change], modes: Mapping[str, int]) -> set[str]:
    """Apply changes, each new file by a rename from `staging`. Return the paths that stay as they are.

    A path stays if it is not what the change begins with, because somebody has changed it since, or if it cannot be
    changed. A file that is not there gets its permissions from `modes`.
    """
    files = _Files(workspace, modes)
    stayed, emptied = set[str](), set[str]()
    for change in changes:
        if change.status == "D":
            if files.remove(change):
                emptied.update(map(str, PurePosixPath(change.path).parents))
            else:
                stayed.add(change.path)
    for directory in sorted(emptied - {"."}, key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(f"{workspace}/{directory}")
    stayed |= {one.path for one in changes if one.status != "D" and not files.put(f"{staging}/{one.path}", one)}
    return stayed


def staged(staging: str) -> int:
    """Make a directory for files that are to be restored, and return a descriptor that holds a lock on it.

    A workspace that is not there is made. Raises `OSError`.
    """
    os.makedirs(os.path.dirname(staging), exist_ok=True)
    os.mkdir(staging, 0o700)
    held = os.open(staging, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(held, fcntl.LOCK_EX)
    return held


def remove_staging(staging: str, held: int | None) -> None:
    """Remove the staging directory, and release its lock."""
    shutil.rmtree(staging, ignore_errors=True)
    if held is not None:
        os.close(held)


def sweep(workspace: str) -> None:
    """Remove the staging directories of restores whose process was killed: nobody holds their locks."""
    with suppress(OSError), os.scandir(workspace) as entries:
        for entry in entries:
            if not (entry.name.startswith(STAGING) and entry.is_dir(follow_symlinks=False)):
                continue
            held = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(entry.path, ignore_errors=True)
            except BlockingIOError:
                continue  # another process is restoring files there
            finally:
                os.close(held)


class _Files:
    """The files of a workspace."""

    def __init__(self, workspace: str, modes: Mapping[str, int]) -> None:
        self._modes = modes
        self._root, self._beneath = os.path.realpath(workspace), Beneath(workspace)

    def remove(self, change: Change) -> bool:
        """Remove a file if it is as the change begins; return whether it is gone."""
        status = self._status(change.path)
        if status is None:
            return True
        if not self._is_as_kept(change, status):
            return False
        with suppress(WorkspaceError):
            self._beneath.unlink(change.path)
            return True
        return False

    def put(self, staged: str, change: Change) -> bool:
        """Put a staged file in place of what the change begins with; return whether that was done."""
        status = self._status(change.path)
        if status is not None and stat.S_ISDIR(status.st_mode) and _removed_empty(f"{self._root}/{change.path}"):
            status = None
        if status is not None and (change.status == "A" or not self._is_as_kept(change, status)):
            return False
        above, _, name = change.path.rpartition("/")
        try:
            if status is not None and stat.S_ISREG(status.st_mode):
                mode: int | None = stat.S_IMODE(status.st_mode) & 0o777
            else:
                mode = self._modes.get(change.path)
            if mode is not None and change.mode.startswith("100"):
                os.chmod(staged, _mode(mode, change.mode))
            with self._beneath.directory(above, make=True) as directory:
                os.rename(staged, name, dst_dir_fd=directory)
        except (OSError, WorkspaceError):
            return False
        return True

    def _status(self, path: str) -> os.stat_result | None:
        """Return the status of what is at a path; None if nothing is."""
        try:
            return os.lstat(f"{self._root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _is_as_kept(self, change: Change, status: os.stat_result) -> bool:
        """Return whether a path has its kept content and mode, and no link is on the way there."""
        path = f"{self._root}/{change.path}"
        above = os.path.dirname(path)
        if os.path.realpath(above) != above:
            return False
        try:
            return (_mode_of(status), _blob(path, status)) == (change.old_mode, change.old_blob)
        except OSError:
            return False


def _removed_empty(directory: str) -> bool:
    """Remove a directory that contains only empty directories; return whether it was removed."""
    for place, _, files in os.walk(directory, topdown=False):
        if files:
            return False
        try:
            os.rmdir(place)
        except OSError:
            return False
    return True


def _mode(mode: int, wanted: str) -> int:
    """Return permissions that are executable if `wanted` is, for those who may read."""
    return (mode & ~0o111) | ((mode & 0o444) >> 2 if wanted == "100755" else 0)


def _mode_of(status: os.stat_result) -> str:
    """Return the mode that a file has in a tree (git's index-format.adoc)."""
    if stat.S_ISLNK(status.st_mode):
        return "120000"
    if not stat.S_ISREG(status.st_mode):
        return ""
    return "100755" if status.st_mode & 0o100 else "100644"


def _blob(path: str, status: os.stat_result) -> str:
    """Return the blob id of a file or a link; "" for anything else. Raises `OSError`."""
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(path))
        return sha1(b"blob %d\0%b" % (len(target), target), usedforsecurity=False).hexdigest()
    if not stat.S_ISREG(status.st_mode):
        return ""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        digest = sha1(b"blob %d\0" % os.fstat(file.fileno()).st_size, usedforsecurity=False)
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
