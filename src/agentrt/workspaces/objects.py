"""`Objects`: makes the blobs and trees of a git directory, without git. Only trees are read here. For a thread."""

from __future__ import annotations

import errno
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha1
from pathlib import Path

from .object_journal import ObjectJournal, file_of

FILE, PROGRAM, LINK, DIRECTORY = "100644", "100755", "120000", "40000"
"""The modes of a tree's entries."""


def mode_of(status: os.stat_result) -> str:
    """Return the mode of a regular file's entry."""
    return PROGRAM if status.st_mode & stat.S_IXUSR else FILE


_ENTRY = re.compile(rb"([0-7]{5,6} ([^\0]{1,255})\0.{20})", re.DOTALL)
"""A tree's entry: its mode, its name, of NAME_MAX bytes at most, and its id; the groups are all of it, and its name."""

RECENT = 64 << 10
"""Bytes of the trees that were made last and are kept in memory, where the next change begins."""


class Directory:
    """The entries of a directory, as a tree has them. A change of one entry does not parse the others."""

    def __init__(self, encoded: bytes = b"") -> None:
        """Raises `ValueError` if that is not a tree."""
        self._entries = {name: entry for entry, name in _ENTRY.findall(encoded)}
        if sum(map(len, self._entries.values())) != len(encoded):
            raise ValueError("it has something else than entries")
        self._is_sorted = True

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        """Iterate over the names, the modes and the ids of the entries."""
        return ((os.fsdecode(name), *_mode_and_id(entry)) for name, entry in self._entries.items())

    def get(self, name: str) -> tuple[str, str]:
        """Return the mode and the id of an entry; two empty texts if there is none."""
        entry = self._entries.get(os.fsencode(name))
        return _mode_and_id(entry) if entry is not None else ("", "")

    def put(self, name: str, mode: str, object_id: str) -> None:
        """Add an entry, or replace the one of this name."""
        key = os.fsencode(name)
        self._is_sorted = self._is_sorted and self.get(name)[0] == mode
        self._entries[key] = b"%s %s\0%s" % (mode.encode(), key, bytes.fromhex(object_id))

    def remove(self, name: str) -> None:
        """Remove the entry of this name, if there is one."""
        self._entries.pop(os.fsencode(name), None)

    def encoded(self) -> bytes:
        """Return the tree."""
        entries: Iterable[bytes] = self._entries.values()
        if not self._is_sorted:
            entries = sorted(entries, key=_order)
        return b"".join(entries)


def _mode_and_id(entry: bytes) -> tuple[str, str]:
    return entry.partition(b" ")[0].decode(), entry[-20:].hex()


def _order(entry: bytes) -> bytes:
    """Git sorts a directory as if its name ended in "/"."""
    mode, _, name = entry[:-21].partition(b" ")
    return name + b"/" if mode == DIRECTORY.encode() else name


class Objects:
    """The objects of a store and of those that it continues. New objects are in memory until `flush`."""

    def __init__(self, directory: Path, origins: Sequence[Path] = (), journal: ObjectJournal | None = None) -> None:
        """`journal` is that of the directory, if others use it too."""
        self._journal, self._places = journal or ObjectJournal(directory), (directory, *origins)
        self._new = dict[str, bytes]()
        self._recent, self._made = dict[str, bytes](), dict[str, bytes]()
        """The trees of the last `flush`, and those that were made since."""

    def blob(self, data: bytes) -> str:
        """Add the contents of a file, or the target of a link; return the id."""
        return self._add(b"blob", data)

    def tree(self, directory: Directory) -> str:
        """Add a directory; return the id."""
        encoded = directory.encoded()
        name = self._add(b"tree", encoded)
        self._made[name] = encoded
        return name

    def directory(self, tree: str) -> Directory:
        """Return the entries of a tree. Raises `OSError` if it is not there, or damaged."""
        if (known := self._made.get(tree) or self._recent.get(tree)) is not None:
            return Directory(known)
        try:
            head, _, encoded = self._read(tree).partition(b"\0")
            if head != b"tree %d" % len(encoded):
                raise ValueError("it is not a tree, or cut")
            return Directory(encoded)
        except (zlib.error, ValueError) as error:
            raise OSError(errno.EIO, f"the tree {tree} is damaged: {error}") from error

    def flush(self) -> None:
        """Make what was added durable. Raises `OSError`."""
        if self._new:
            self._journal.append(self._new)
        self._recent = self._made if sum(map(len, self._made.values())) <= RECENT else {}
        self._new, self._made = {}, {}

    def forget(self) -> None:
        """Drop what was added since the last `flush`."""
        self._new, self._made = {}, {}

    def _add(self, kind: bytes, data: bytes) -> str:
        whole = b"%s %d\0%s" % (kind, len(data), data)
        name = sha1(whole, usedforsecurity=False).hexdigest()
        if not (name in self._new or name in self._journal or any(file_of(one, name).exists() for one in self._places)):
            self._new[name] = zlib.compress(whole, 1)
        return name

    def _read(self, name: str) -> bytes:
        if name in self._new:
            return zlib.decompress(self._new[name])
        if (waiting := self._journal.read(name)) is not None:
            return zlib.decompress(waiting)
        from .packs import tree_in_packs  # only a large workspace has any

        for place in self._places:
            with suppress(FileNotFoundError):
                return zlib.decompress(file_of(place, name).read_bytes())
            if (packed := tree_in_packs(place, name)) is not None:
                return packed
        raise FileNotFoundError(name)


Changes = Mapping[str, tuple[str, str] | None]
"""The mode and the id of each path that has changed; None for one that is gone with all below it."""

A_DIRECTORY = ("", "")
"""Stands for a path at which a directory is now, and may have been before."""


def patched(objects: Objects, tree: str | None, changes: Changes) -> str | None:
    """Return a tree with changes; None if nothing remains in it. Raises `OSError` like `Objects.directory`."""
    directory = objects.directory(tree) if tree is not None else Directory()
    below = dict[str, dict[str, tuple[str, str] | None]]()
    for path, change in changes.items():
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = change
        elif change is None or (change == A_DIRECTORY and directory.get(name)[0] != DIRECTORY):
            directory.remove(name)
        elif change != A_DIRECTORY:
            directory.put(name, *change)
    for name, inner in below.items():
        mode, object_id = directory.get(name)
        made = patched(objects, object_id if mode == DIRECTORY else None, inner)
        if made is not None:
            directory.put(name, DIRECTORY, made)
        elif mode == DIRECTORY:
            directory.remove(name)
    return objects.tree(directory) if len(directory) else None
