"""`imports`: many files as git-fast-import(1) reads them, which makes one pack of them with one sync, instead of a file
for each object. For a thread.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby

from ..errors import WorkspaceError
from .beneath import Beneath
from .objects import FILE, PROGRAM

MANY = 500
"""Files from which on one pack is faster."""

IMPORT_BYTES = 16 << 20
"""Bytes of files in one import; more go into the next one."""

MOST_BYTES = 1 << 20
"""Bytes of a file; git reads a larger one itself."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_BEGIN = b"commit refs/heads/imported\ncommitter agentrt <agentrt> 0 +0000\ndata 0\ndeleteall\n"
"""A commit, since its trees go into the pack too."""

_END = b"reset refs/heads/imported\nfrom 0000000000000000000000000000000000000000\n\n"
"""Nothing names the commit."""


def imports(directory: str, paths: Iterable[str]) -> Iterator[bytes]:
    """Yield the input of one import after another: the files at some paths as they are now.

    What is gone, no file or large is not in it. Raises nothing.
    """
    parts, size = [_BEGIN], 0
    for path, mode, data in _read(directory, paths):
        parts.append(b'M %s inline "%s"\ndata %d\n%s\n' % (mode.encode(), _quoted(path), len(data), data))
        size += len(data)
        if size >= IMPORT_BYTES:
            yield b"".join((*parts, _END))
            parts, size = [_BEGIN], 0
    if len(parts) > 1:
        yield b"".join((*parts, _END))


def _read(directory: str, paths: Iterable[str]) -> Iterator[tuple[str, str, bytes]]:
    beneath = Beneath(directory)
    for above, together in groupby(paths, lambda path: path.rpartition("/")[0]):
        with suppress(WorkspaceError), beneath.directory(above) as place:
            for path in together:
                with suppress(OSError):
                    if (found := _file(path.rpartition("/")[2], place)) is not None:
                        yield (path, *found)


def _file(name: str, place: int) -> tuple[str, bytes] | None:
    """Return the mode and the contents of a file in a directory. Raises `OSError`, for a link too."""
    descriptor = os.open(name, _FLAGS, dir_fd=place)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            return None
        mode = PROGRAM if status.st_mode & stat.S_IXUSR else FILE
        return mode, os.read(descriptor, MOST_BYTES)
    finally:
        os.close(descriptor)


def _quoted(path: str) -> bytes:
    """Return a path with the escapes of git-fast-import(1), between quotes."""
    return re.sub(rb'["\\\n]', lambda found: b"\\%03o" % found[0][0], os.fsencode(path))
