"""`walked`: all that is below a directory. It needs the standard library alone, since it is sent to far ends, too."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection


def walked(directory: str, most: int, skipped: Collection[str] = ()) -> list[tuple[str, int, int, int, str]]:
    """Return what is below a directory, at most `most` of it, each as the fields of `placing.Walked`; a directory comes
    before what is in it.

    No link is followed, and entries with one of these names are left out. What goes meanwhile, or cannot be read, is
    missing. Raises `OSError` if the directory itself cannot be read. For a thread.
    """
    found: list[tuple[str, int, int, int, str]] = []
    left = [""]
    os.scandir(directory).close()
    while left and len(found) < most:
        above = left.pop()
        try:
            with os.scandir(f"{directory}/{above}") as entries:
                names = sorted(entry.name for entry in entries)
        except OSError:
            continue
        for name in names:
            if name in skipped:
                continue
            path = f"{above}{name}"
            try:
                status = os.lstat(f"{directory}/{path}")
                target = os.readlink(f"{directory}/{path}") if stat.S_ISLNK(status.st_mode) else ""
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                left.append(f"{path}/")
            found.append((path, status.st_mode, status.st_size, status.st_ctime_ns, target))
    return found[:most]
