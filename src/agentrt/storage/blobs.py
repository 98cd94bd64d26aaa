"""Blobs: bytes beside a log, named by their SHA-256, and durable before an event refers to them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from ..errors import LogCorrupt, LogFailed
from ..specs import BlobReference
from ..specs.content import TEXT
from .disk import make_directories, replace_file, sync_directory

BLOBS = "blobs"
"""The directory beside a log that contains its blobs."""


def write_blob(directory: Path, data: bytes, name: str, media_type: str = TEXT) -> BlobReference:
    """Store `data`; for a thread, since it blocks. The same bytes are stored once. Raises `LogFailed`."""
    digest = hashlib.sha256(data).hexdigest()
    path = directory / digest
    try:
        make_directories(directory)  # a blob may come before the first event
        if path.exists():
            sync_directory(directory)  # another writer stored it, and may have died before
        else:
            replace_file(path, data, durable=True)
        sync_directory(directory.parent)
    except OSError as error:
        raise LogFailed(path, error, stops=False) from error
    return BlobReference(sha256=digest, size=len(data), media_type=media_type, name=name)


def find_blob(directories: Iterable[Path], sha256: str) -> bytes:
    """Return the bytes of a blob from one of several directories; for a thread. Raises `LogCorrupt`."""
    path = Path(sha256)
    for directory in directories:
        path = directory / sha256
        try:
            return read_blob(directory, sha256)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise LogCorrupt(path, 0, str(error)) from error
    raise LogCorrupt(path, 0, "the blob is missing")


def read_blob(directory: Path, sha256: str) -> bytes:
    """Return the bytes of a blob. Raises `FileNotFoundError`, or `ValueError` if they are not the bytes that were
    stored.
    """
    data = (directory / sha256).read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ValueError(f"blob {sha256} is damaged")
    return data
