"""Digests of files and directories, to tell whether they have changed; for a thread."""

from __future__ import annotations

import os
import stat
from hashlib import sha256

MOST_FILES = 20_000
MOST_BYTES = 64 << 20
"""The limits of a directory; a larger one has no digest."""


def file_digest(path: str) -> str | None:
    """Return the SHA-256 of a regular file, in hexadecimal; None if it is not one, or cannot be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            digest = sha256()
            while piece := file.read(1 << 20):
                digest.update(piece)
            return digest.hexdigest()
    except (OSError, ValueError):
        return None


def tree_digest(directory: str) -> str | None:
    """Return the SHA-256, in hexadecimal, of all names and contents below a directory except `.git`; the content of a
    link is its target's path.

    None if it is not a directory, cannot be read, is too large, or has a link that leads out of it or into `.git`.
    """
    digest, files, size = sha256(), 0, 0
    try:
        if not os.path.isdir(directory):
            return None
        for place, directories, names in os.walk(directory, onerror=_raise):
            links = [name for name in directories if os.path.islink(os.path.join(place, name))]
            directories[:] = sorted(name for name in directories if name != ".git" and name not in links)
            for name in sorted([*names, *links]):
                path = os.path.join(place, name)
                found = os.lstat(path)
                files, size = files + 1, size + found.st_size
                if files > MOST_FILES or size > MOST_BYTES:
                    return None
                if stat.S_ISLNK(found.st_mode) and not _is_below(path, directory):
                    return None
                content = os.readlink(path) if stat.S_ISLNK(found.st_mode) else file_digest(path) or "special"
                digest.update(f"{os.path.relpath(path, directory)}\0{content}\0".encode(errors="surrogateescape"))
    except (OSError, ValueError):
        return None
    return digest.hexdigest()


def _is_below(path: str, directory: str) -> bool:
    real, root = os.path.realpath(path), os.path.realpath(directory)
    return real.startswith(root.rstrip(os.sep) + os.sep) and ".git" not in real[len(root) :].split(os.sep)


def _raise(error: OSError) -> None:
    raise error
