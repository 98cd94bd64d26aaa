"""The files that an action runs: their texts for its rating, and whether they are still the same when it runs.

All functions are for a thread: they block.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from posixpath import normpath

import msgspec
from msgspec.structs import replace

from ..errors import ToolError
from ..sandboxes.rated_ends import end_of
from ..sandboxes.reached import ReachedFiles
from ..security.paths import SCRATCH, within
from ..specs import WorkspaceSpec
from ..specs.effects import Effects, FileText

MOST_SCRIPTS = 64
"""Maximum number of files of one action that are examined in a round."""

MAX_SCRIPT = 64 * 1024
"""Maximum size, in bytes, of a file that is read."""

ABSENT = "absent"
_READ, _UNREAD, _ENDS = "sha256:", "stat:", "ends:"


class Script(msgspec.Struct, frozen=True):
    """A file that is run: its text, if it was read and is UTF-8, and a mark that shows whether it has changed."""

    mark: str
    text: str | None = None

    @property
    def is_old(self) -> bool:
        """Whether the file exists and was not read."""
        return self.mark.startswith(_UNREAD)


def read_scripts(
    paths: Iterable[str], workspace: WorkspaceSpec, is_young: Callable[[str, os.stat_result], bool]
) -> dict[str, Script]:
    """Return the files at paths in the workspace or in temporary directories; young ones with their texts."""
    files, found = ReachedFiles(workspace), {}
    for path in sorted(paths)[:MOST_SCRIPTS]:
        if any(within(path, directory) for directory in _looked_into(workspace)):
            found[path] = _look(files, path, is_young)
    return found


def changed(marks: Mapping[str, str], workspace: WorkspaceSpec) -> str | None:
    """Return the first path whose file has changed since it was marked; None if none has."""
    files = ReachedFiles(workspace)
    for path, mark in marks.items():
        if mark.startswith(_ENDS):
            if end_of(path, workspace.path) != mark.removeprefix(_ENDS):
                return path
            continue
        was_read = mark.startswith(_READ)
        if _look(files, path, _read_all if was_read else _read_none).mark != mark:
            return path
    return None


def ends_in(marks: Mapping[str, str]) -> dict[str, str]:
    """Return the paths among marked ones that lead elsewhere than they say, each with the place where it led."""
    return {path: mark.removeprefix(_ENDS) for path, mark in marks.items() if mark.startswith(_ENDS)}


def with_ends(effects: Effects, workspace: WorkspaceSpec) -> tuple[Effects, dict[str, str]]:
    """Return effects together with the places where their paths really end, and a mark for each path that leads
    elsewhere than it says.
    """
    ends, marks = dict[str, str](), dict[str, str]()
    for path in dict.fromkeys((*effects.reads, *(file.path for file in effects.files))):
        if path.startswith("~"):  # no tool opens it as a file
            continue
        whole = normpath(path if path.startswith("/") else f"{workspace.path}/{path}")
        if (end := end_of(whole, workspace.path)) != whole:
            ends[path], marks[whole] = end, f"{_ENDS}{end}"
    if not ends:
        return effects, {}
    reads = (*effects.reads, *(ends[path] for path in effects.reads if path in ends))
    writes = (*effects.writes, *(FileText(ends[file.path], file.text) for file in effects.files if file.path in ends))
    return replace(effects, reads=reads, writes=writes), marks


def _read_all(path: str, status: os.stat_result) -> bool:
    return True


def _read_none(path: str, status: os.stat_result) -> bool:
    return False


def _looked_into(workspace: WorkspaceSpec) -> tuple[str, ...]:
    """Return the directories in which commands see the same files as this process."""
    own = (workspace.directory,)
    return (*own, *SCRATCH) if workspace.on_this_machine else own


def _look(files: ReachedFiles, path: str, reads: Callable[[str, os.stat_result], bool]) -> Script:
    try:
        status = files.status(path)
        if status is None:
            return Script(ABSENT)
        mark = f"{_UNREAD}{status.st_ino}-{status.st_ctime_ns}-{status.st_size}"
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SCRIPT or not reads(path, status):
            return Script(mark)
        data = files.read(path)
    except (ToolError, OSError):  # the path leads out of a container's workspace, or cannot be read
        return Script(ABSENT)
    mark = f"{_READ}{sha256(data).hexdigest()}"
    try:
        return Script(mark, data.decode())
    except UnicodeDecodeError:  # a binary, which cannot be rated
        return Script(mark)
