"""`imports`: many files as git-fast-import(1) reads them, which makes one pack of them with one sync, instead of a file
for each object. For a thread.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby

from ..errors import WorkspaceError
from ..sandboxes.beneath import Beneath, opened_in
from .objects import mode_of

IMPORT_BYTES = 16 << 20
"""Bytes of files in one import; more go into the next one."""

MOST_BYTES = 1 << 20
"""Bytes of a file; git reads a larger one itself."""

_BEGIN = b"commit refs/heads/imported\ncommitter agentrt <agentrt> 0 +0000\ndata 0\ndeleteall\n"
"""A commit, since its trees go into the pack too."""

_END = b"reset refs/heads/imported\nfrom 0000000000000000000000000000000000000000\n\n"
"""Nothing names the commit."""


def imports(directory: str, paths: Iterable[str]) -> Iterator[bytes]:
    """Yield the input of one import after another: the files at some paths as they are now.

    Files that are gone or large are left out, and so is what is not a file. Raises nothing.
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
                with suppress(OSError, WorkspaceError):
                    if (found := _file(path, place)) is not None:
                        yield (path, *found)


def _file(path: str, place: int) -> tuple[str, bytes] | None:
    """Return the mode and the contents of a file in a directory; None if it is large.

    Raises `OSError` or `WorkspaceError`, for a link too.
    """
    with io.FileIO(opened_in(place, path.rpartition("/")[2], path)) as file:
        status = os.fstat(file.fileno())
        return None if status.st_size > MOST_BYTES else (mode_of(status), file.read(MOST_BYTES))


def _quoted(path: str) -> bytes:
    """Return a path with the escapes of git-fast-import(1), between quotes."""
    return re.sub(rb'["\\\n]', lambda found: b"\\%03o" % found[0][0], os.fsencode(path))
