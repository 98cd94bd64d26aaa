"""`Patcher`: makes the tree of a workspace by reading only what has changed, or all of a small one. For a thread."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress

import msgspec

from ..errors import WorkspaceError
from ..sandboxes.beneath import Beneath
from .left_out import LeftOut
from .objects import A_DIRECTORY, LINK, Objects, mode_of, patched
from .standing import Standing, standing
from .tree_index import STAGING
from .tree_limits import Most
from .tree_store import Settings

SMALL_FILES = 500
"""Files of a workspace that is read as a whole, without git."""
SMALL_BYTES = 4 << 20
"""Bytes of them, or of files that have changed."""

MOST_NEW = 1_000
"""Files that may be new since git looked at them last, which knows those that are ignored, and may be too many."""


class Patched(msgspec.Struct, frozen=True):
    """A tree (None: without files), what was read for it, and the bytes that were added to the store."""

    tree: str | None
    files: frozenset[str]
    modes: dict[str, int]
    added: int


class Patcher:
    """Makes the trees of one workspace. None stands for one that git has to make: there is much to read, or something
    that no tree can have.
    """

    def __init__(self, objects: Objects, workspace: str, apart: Collection[str], most: Most) -> None:
        """The paths `apart` and all below them are left alone."""
        self._objects, self._workspace, self._apart, self._most = objects, workspace, apart, most
        self._beneath = Beneath(workspace)
        self._new, self._new_bytes = set[str](), 0
        """The files that were read since git looked at all of them, and their bytes."""

    def looked(self) -> None:
        """Note that git has looked at all files."""
        self._new, self._new_bytes = set(), 0

    def of_small(self, settings: Settings) -> Patched | None:
        """Return the tree of all files, if these are few."""
        if not settings.ignored or settings.nested or settings.others:
            return None
        paths = self._few()
        if paths is None or len(paths) > min(self._most.files, self._most.ignored_files):
            return None
        self.looked()
        return self._made(None, standing(self._workspace, paths), settings, whole=True)

    def of_changed(
        self, tree: str | None, paths: Iterable[str], settings: Settings, left_out: LeftOut
    ) -> Patched | None:
        """Return a tree with the files at some paths as they are now. "/" at the end stands for all that is below."""
        kept = {path for path in paths if not self._is_apart(path.rstrip("/")) and not _is_below(path, settings.others)}
        anew = {path for path in kept if path.endswith("/")}
        kept -= anew
        for path in anew:
            if (below := self._few(path)) is None:
                return None
            kept.update(below)
        if any(left_out.covers(path) for path in (*kept, *anew)):
            return None
        return self._made(tree, standing(self._workspace, kept), settings, anew)

    def _made(
        self,
        tree: str | None,
        found: Standing,
        settings: Settings,
        anew: Iterable[str] = (),
        *,
        whole: bool = False,
    ) -> Patched | None:
        """Make a tree without what it has at the paths `anew`, and with what was found: some files, or all of them."""
        if found.repositories or found.left_out:
            return None
        changes: dict[str, tuple[str, str] | None] = {path.rstrip("/"): None for path in anew}
        for path in found.gone:
            is_directory = os.path.isdir(f"{self._workspace}/{path}")
            changes.setdefault(path, A_DIRECTORY if is_directory else None)
        added, most = 0, min(SMALL_BYTES, self._most.bytes, self._most.ignored_bytes - self._new_bytes)
        new = self._new.union(found.files)
        if len(new) > min(MOST_NEW, self._most.ignored_files):
            return None
        try:
            for path in found.files:
                mode, data = self._read(path, linked=whole)
                added += len(data)
                if added > most or settings.stored + added > self._most.stored:
                    return None
                changes[path] = (mode, self._objects.blob(data))
            made = patched(self._objects, tree, changes)
            self._objects.flush()
        except (OSError, WorkspaceError):  # something is gone by now, or not in a file of its own
            return None
        finally:
            self._objects.forget()
        self._new, self._new_bytes = new, self._new_bytes + added
        return Patched(made, frozenset(found.files), found.modes, added)

    def _read(self, path: str, *, linked: bool) -> tuple[str, bytes]:
        """Return the mode and the contents of a file or a link. Raises `OSError` or `WorkspaceError`.

        Raise one, too, for a file with several names unless `linked`: nobody tells of its change under the others.
        """
        place = f"{self._workspace}/{path}"
        status = os.lstat(place)
        if stat.S_ISLNK(status.st_mode):
            return LINK, os.fsencode(os.readlink(place))
        with self._beneath.open(path) as file:
            if status.st_size > SMALL_BYTES or (status.st_nlink > 1 and not linked):
                raise OSError("git has to look")
            return mode_of(os.fstat(file.fileno())), file.read(SMALL_BYTES + 1)

    def _few(self, below: str = "") -> list[str] | None:
        """Return the paths of all files, or of those below a directory; None if they are many, or in a repository of
        their own.
        """
        found, waiting, seen = list[str](), [below], 0
        if below and not os.path.isdir(f"{self._workspace}/{below}"):
            return found
        with suppress(OSError):
            while waiting:
                place = waiting.pop()
                with os.scandir(f"{self._workspace}/{place}") as entries:
                    for entry in entries:
                        path, seen = f"{place}{entry.name}", seen + 1
                        if seen > SMALL_FILES or (entry.name == ".git" and place):
                            return None
                        if entry.name == ".git" or self._is_apart(path):
                            continue
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(f"{path}/")
                        else:
                            found.append(path)
            return found
        return None

    def _is_apart(self, path: str) -> bool:
        return path.startswith(STAGING) or _is_below(path, self._apart)


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
