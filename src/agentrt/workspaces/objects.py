"""`Objects`: writes blobs and trees into the object directory of a git repository, without git.

An object is written to a file of its own (gitrepository-layout(5), "objects"). Many small files cannot be synced at
once; so what is written since they were is also in a journal, whose one sync makes all of it durable. A start after a
crash writes again what the journal has. Only trees are read here. For a thread.
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from secrets import token_hex
from struct import Struct

from ..storage import sync_directory, sync_file_system

JOURNAL = "unsynced"
MOST_UNSYNCED = 4 << 20
"""Bytes of a journal; beyond, its objects are synced."""

_HEAD = Struct(">20sI")
"""Of an object in the journal: its id, and the number of bytes that follow."""

FILE, PROGRAM, LINK, DIRECTORY = "100644", "100755", "120000", "40000"
"""The modes of a tree's entries."""


def mode_of(status: os.stat_result) -> str:
    """Return the mode of a regular file's entry."""
    return PROGRAM if status.st_mode & stat.S_IXUSR else FILE


Entries = dict[str, tuple[str, str]]
"""The mode and the id of each entry of a directory."""


class Objects:
    """The objects of a store and of those that it continues. New objects are in memory until `flush`."""

    def __init__(self, directory: Path, origins: Sequence[Path] = ()) -> None:
        self._directory, self._places = directory, (directory, *origins)
        self._new = dict[str, bytes]()

    def blob(self, data: bytes) -> str:
        """Add the contents of a file, or the target of a link; return the id."""
        return self._add(b"blob", data)

    def tree(self, entries: Entries) -> str:
        """Add a directory; return the id."""
        ordered = sorted(entries.items(), key=lambda entry: _order(entry[0], entry[1][0]))
        parts = (
            b"%s %s\0%s" % (mode.encode(), os.fsencode(name), bytes.fromhex(object_id))
            for name, (mode, object_id) in ordered
        )
        return self._add(b"tree", b"".join(parts))

    def entries(self, tree: str) -> Entries:
        """Return the entries of a directory. Raises `OSError` if it is not there, or damaged."""
        try:
            return _parsed(self._read(tree))
        except (zlib.error, ValueError) as error:
            raise OSError(errno.EIO, f"the tree {tree} is damaged: {error}") from error

    def flush(self) -> None:
        """Make what was added durable, then visible to git. Raises `OSError`."""
        if not self._new:
            return
        parts = [_HEAD.pack(bytes.fromhex(name), len(body)) + body for name, body in self._new.items()]
        size = _append(self._directory / JOURNAL, b"".join(parts))
        for name, body in self._new.items():
            _put(self._directory, name, body)
        self._new = {}
        if size > MOST_UNSYNCED:
            settle(self._directory)

    def forget(self) -> None:
        """Drop what was added since the last `flush`."""
        self._new = {}

    def _add(self, kind: bytes, data: bytes) -> str:
        whole = b"%s %d\0%s" % (kind, len(data), data)
        name = sha1(whole, usedforsecurity=False).hexdigest()
        if name not in self._new and not any(_file(place, name).exists() for place in self._places):
            self._new[name] = zlib.compress(whole, 1)
        return name

    def _read(self, name: str) -> bytes:
        if name in self._new:
            return zlib.decompress(self._new[name])
        from .packs import tree_in_packs  # only a large workspace has any

        for place in self._places:
            with suppress(FileNotFoundError):
                return zlib.decompress(_file(place, name).read_bytes())
            if (packed := tree_in_packs(place, name)) is not None:
                return packed
        raise FileNotFoundError(name)


def _parsed(data: bytes) -> Entries:
    """Return the entries of a tree. Raises `ValueError`."""
    found, at = Entries(), data.index(b"\0") + 1
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        found[os.fsdecode(name)] = (mode.decode(), data[end + 1 : end + 21].hex())
        at = end + 21
    return found


def _append(journal: Path, data: bytes) -> int:
    """Append to a journal durably; return its size."""
    new = not journal.exists()
    descriptor = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        before = os.fstat(descriptor).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(descriptor, data[written:])
            os.fdatasync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, before)  # what is behind half an object would not be found
            raise
        size = before + len(data)
    finally:
        os.close(descriptor)
    if new:
        sync_directory(journal.parent)
    return size


def replay(directory: Path) -> None:
    """Write the objects of a store's journal that a crash has lost."""
    for name, body in _unsynced(directory):
        file = _file(directory, name)
        try:
            if file.read_bytes() == body:
                continue
            file.unlink()
        except FileNotFoundError:
            pass
        _put(directory, name, body)


def settle(directory: Path) -> None:
    """Sync the objects of a store's journal, and remove it. Only for the one process that writes there."""
    journal = directory / JOURNAL
    if not journal.exists():
        return
    replay(directory)
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_file_system(descriptor)
    finally:
        os.close(descriptor)
    journal.unlink()


def _unsynced(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the objects of a journal, up to what a crash has cut."""
    try:
        data = (directory / JOURNAL).read_bytes()
    except FileNotFoundError:
        return
    at = 0
    while at + _HEAD.size <= len(data):
        name, length = _HEAD.unpack_from(data, at)
        body = data[at + _HEAD.size : at + _HEAD.size + length]
        at += _HEAD.size + length
        try:
            if sha1(zlib.decompress(body), usedforsecurity=False).digest() != name:
                return
        except zlib.error:
            return
        yield name.hex(), body


def _put(directory: Path, name: str, body: bytes) -> None:
    file = _file(directory, name)
    file.parent.mkdir(exist_ok=True)
    made = file.with_name(f"tmp_obj_{token_hex(8)}")
    made.write_bytes(body)
    made.chmod(0o444)
    made.rename(file)


def _file(directory: Path, name: str) -> Path:
    return directory / "objects" / name[:2] / name[2:]


def _order(name: str, mode: str) -> bytes:
    """Git sorts a directory as if its name ended in "/"."""
    return os.fsencode(name) + (b"/" if mode == DIRECTORY else b"")


Changes = Mapping[str, tuple[str, str] | None]
"""The mode and the id of each path that has changed; None for one that is gone with all below it."""

A_DIRECTORY = ("", "")
"""Stands for a path at which a directory is now, and may have been before."""


def patched(objects: Objects, tree: str | None, changes: Changes) -> str | None:
    """Return a tree with changes; None if nothing remains in it. Raises `OSError` like `Objects.entries`."""
    entries = objects.entries(tree) if tree is not None else Entries()
    below = dict[str, dict[str, tuple[str, str] | None]]()
    for path, change in changes.items():
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = change
        elif change is None or (change == A_DIRECTORY and entries.get(name, A_DIRECTORY)[0] != DIRECTORY):
            entries.pop(name, None)
        elif change == A_DIRECTORY:
            continue
        else:
            entries[name] = change
    for name, inner in below.items():
        mode, object_id = entries.get(name, ("", ""))
        made = patched(objects, object_id if mode == DIRECTORY else None, inner)
        if made is not None:
            entries[name] = (DIRECTORY, made)
        elif mode == DIRECTORY:
            del entries[name]
    return objects.tree(entries) if entries else None
