"""`standing`: sorts paths that git has listed into those that can be kept and those that cannot. For a thread."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

import msgspec


class Standing(msgspec.Struct, frozen=True):
    """Paths of a directory, by what is there now."""

    files: tuple[str, ...] = ()
    """Files and links."""
    gone: tuple[str, ...] = ()
    """Paths without a file or link any more."""
    repositories: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """What cannot be kept: it may not be read, git refuses its name, or it is neither a file nor a link."""
    modes: dict[str, int] = {}
    """The permissions of files, where they differ from those of new files."""


def standing(directory: str, listed: Iterable[str]) -> Standing:
    """Return the listed paths by what is there now. Git lists a repository with "/" at the end."""
    files, gone, repositories, left_out = list[str](), list[str](), list[str](), list[str]()
    modes, above, mask = dict[str, int](), _Above(directory), _mask()
    for path in listed:
        if path.endswith("/"):
            repositories.append(path[:-1])
            continue
        try:
            status = os.lstat(f"{directory}/{path}") if above.is_plain(path) else None
        except (FileNotFoundError, NotADirectoryError):
            status = None
        except OSError:
            left_out.append(path)
            continue
        if status is None or stat.S_ISDIR(status.st_mode):
            gone.append(path)
        elif not _can_be_kept(f"{directory}/{path}", path, status):
            left_out.append(path)
        else:
            files.append(path)
            mode = stat.S_IMODE(status.st_mode) & 0o777
            if stat.S_ISREG(status.st_mode) and mode not in (0o666 & ~mask, 0o777 & ~mask):
                modes[path] = mode
    return Standing(tuple(files), tuple(gone), tuple(repositories), tuple(left_out), modes)


class _Above:
    """Checks for links on the way to a path: what is behind a link does not belong to this directory."""

    def __init__(self, directory: str) -> None:
        self._directory, self._plain = directory, {"": True}

    def is_plain(self, path: str) -> bool:
        """Return whether no directory above a path is a link."""
        above = path.rpartition("/")[0]
        if above not in self._plain:
            self._plain[above] = self.is_plain(above) and not os.path.islink(f"{self._directory}/{above}")
        return self._plain[above]


def _can_be_kept(place: str, path: str, status: os.stat_result) -> bool:
    if stat.S_ISLNK(status.st_mode):
        return not _is_refused(path) and path.rpartition("/")[2].lower() != ".gitmodules"
    return stat.S_ISREG(status.st_mode) and not _is_refused(path) and os.access(place, os.R_OK)


def _is_refused(path: str) -> bool:
    """Return whether git refuses any file of this name: verify_path() in its read-cache.c."""
    return any(part.lower() == ".git" for part in path.split("/"))


def _mask() -> int:
    """Return the umask, from /proc, because umask(2) only returns it by setting another."""
    with open("/proc/self/status") as status:
        return next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")), 0o022)
