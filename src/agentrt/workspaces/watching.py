"""`watch`: learn which files of a workspace have changed since the last look, without reading it. For a thread.

All workspaces share one queue of the kernel, since a user may have few of them. What the kernel does not tell, such as
changes on a file server or through a hard link from outside, a look at the whole workspace finds.
"""

from __future__ import annotations

import os
import re
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from . import inotify
from .fingerprint import identity_of
from .inotify import Inotify, Told

MOST_DIRECTORIES = 20_000
"""Directories of a workspace that are watched; one with more is not watched."""

MOST_CHANGES = 5_000
"""Changed paths that are remembered between two looks; with more, a look at the whole workspace is as fast."""

_LOCAL = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "ramfs", "overlay", "bcachefs", "reiserfs", "jfs")
)
"""File systems that nobody changes but this kernel."""


class Watch:
    """The changes in one workspace for one of those who look at it."""

    def __init__(self, watched: _Watched) -> None:
        self._watched = watched
        self._changed: set[str] | None = None
        """None: anything may have changed."""
        self.is_blind = False
        """Whether changes are not noted any more."""

    def changed(self) -> frozenset[str] | None:
        """Return the paths that may have changed since this was called last; None: anything, as it is at first.

        A path is relative to the workspace. With "/" at its end, anything below it may have changed.
        """
        with _queue.lock:
            _queue.take()
            self._watched.check()
            changed, self._changed = self._changed, None if self.is_blind else set()
            return None if changed is None else frozenset(changed)

    def changed_at_once(self) -> frozenset[str] | None:
        """Return what `changed` would, if that can be told at once; otherwise None, and nothing is taken.

        This may be called on the event loop: threads that all ask would wait for each other.
        """
        if not _queue.lock.acquire(blocking=False):
            return None
        try:
            heard = _queue.hear()
            if self._changed is None or self.is_blind or not heard or not self._watched.is_in_place():
                return None
            changed, self._changed = self._changed, set()
            return frozenset(changed)
        finally:
            _queue.lock.release()

    def is_quiet(self) -> bool:
        """Return whether nothing has changed since `changed` was called last, as far as can be told at once.

        This may be called on the event loop.
        """
        if not _queue.lock.acquire(blocking=False):
            return False
        try:
            return _queue.hear() and self._changed == set() and self._watched.is_in_place()
        finally:
            _queue.lock.release()

    def close(self) -> None:
        """Watch no longer."""
        with _queue.lock:
            self._watched.leave(self)

    def note(self, path: str | None) -> None:
        """Note that a path may have changed; None: anything."""
        if path is None or (self._changed is not None and len(self._changed) >= MOST_CHANGES):
            self._changed = None
        elif self._changed is not None:
            self._changed.add(path)

    def fail(self) -> None:
        """Note that anything may change from now on without being noted."""
        self._changed, self.is_blind = None, True


def watch(workspace: str, apart: Iterable[str]) -> Watch | None:
    """Watch a workspace, except what is in `.git` directories and at or below the paths `apart`.

    None if the kernel cannot tell of all changes in it, or watches no more directories.
    """
    if not _is_local(os.path.realpath(workspace)):
        return None
    with _queue.lock:
        return _queue.watch(workspace, frozenset(apart))


class _Watched:
    """A workspace and those who look at it."""

    def __init__(self, queue: _Queue, workspace: str, apart: frozenset[str]) -> None:
        self._queue, self.workspace, self.apart = queue, workspace, apart
        self._root = os.path.realpath(workspace)
        self._identity = identity_of(workspace)
        self._device = self._identity[0] if self._identity else 0
        self._numbers = dict[str, int]()
        """The number of each directory, by its path."""
        self._below = defaultdict[str, set[str]](set)
        """The paths of the directories in each directory."""
        self._watches = list[Watch]()

    def join(self) -> Watch:
        """Add somebody who looks at it."""
        self._watches.append(Watch(self))
        return self._watches[-1]

    def leave(self, watch: Watch) -> None:
        """Remove somebody; with the last one, watch it no longer."""
        if watch in self._watches:
            self._watches.remove(watch)
            if not self._watches:
                self._queue.forget(self)

    def add(self, path: str) -> Iterator[str]:
        """Watch the directory at a path and all below it, as far as they are there; yield the paths of what is in them.

        Raises `OSError` if the kernel cannot tell of all changes in them.
        """
        waiting = [path]
        while waiting:
            here = waiting.pop()
            prefix = f"{here}/" if here else ""
            place = os.path.join(self._root, here)
            try:
                if os.lstat(place).st_dev != self._device or len(self._numbers) >= MOST_DIRECTORIES:
                    raise OSError("another file system, or too many directories")
                self._numbers[here] = self._queue.add(place, self, here)
                self._below[here.rpartition("/")[0]].add(here)
                with os.scandir(place) as entries:
                    for entry in entries:
                        name = f"{prefix}{entry.name}"
                        if not self._is_apart(name):
                            yield name
                            if entry.is_dir(follow_symlinks=False):
                                waiting.append(name)
            except (FileNotFoundError, NotADirectoryError):
                if not here:
                    raise  # otherwise it is gone already, which is told

    def drop(self, path: str) -> None:
        """Watch what is at or below a path no longer."""
        self._below[path.rpartition("/")[0]].discard(path)
        waiting = [path]
        while waiting:
            here = waiting.pop()
            waiting += self._below.pop(here, ())
            if (number := self._numbers.pop(here, None)) is not None:
                self._queue.remove(number, self, here)

    def happened(self, here: str, mask: int, name: str) -> None:
        """Note what happened to an entry of a directory."""
        path = f"{here}/{name}" if here else name
        if name == ".git":
            self.note(None)  # there is another repository, or one less
        elif name and path not in self.apart:
            moved = mask & inotify.IS_DIRECTORY and mask & inotify.MOVED_FROM
            for one in self._watches:
                one.note(f"{path}/" if moved else path)
            if mask & inotify.IS_DIRECTORY:
                self._directory_changed(path, mask)

    def _directory_changed(self, path: str, mask: int) -> None:
        if mask & inotify.ATTRIB:
            self.note(None)  # what is below may be readable now, or no longer
            return
        self.drop(path)
        place = os.path.join(self._root, path)
        try:
            if os.path.isdir(place) and not os.path.islink(place):
                for one in self.add(path):
                    self.note(None if one.endswith("/.git") else one)
        except OSError:
            self.fail()

    def note(self, path: str | None) -> None:
        """Tell all who look."""
        for one in self._watches:
            one.note(path)

    def check(self) -> None:
        """Fail if another directory has taken the place of the workspace, or none."""
        if self._identity is not None and not self.is_in_place():
            self.fail()

    def is_in_place(self) -> bool:
        """Return whether the workspace is the directory that is watched."""
        return self._identity is not None and identity_of(self.workspace) == self._identity

    def lost(self, path: str) -> None:
        """Note that a directory is gone."""
        if not path:
            self.fail()  # another one may have the same number
        elif path in self._numbers:
            self.drop(path)
            self.note(f"{path}/")

    def fail(self) -> None:
        """Tell all who look that anything may change from now on: they may begin to watch again."""
        self._identity = None
        self._queue.forget(self)
        for one in self._watches:
            one.fail()

    def _is_apart(self, path: str) -> bool:
        return path in self.apart or path == ".git" or path.endswith("/.git")


class _Queue:
    """The kernel's queue, which all workspaces share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._inotify: Inotify | None = None
        self._watched = dict[tuple[str, frozenset[str]], _Watched]()
        self._heard = deque[Told]()
        """What the kernel has told and nobody was told of."""
        self._places = defaultdict[int, list[tuple[_Watched, str]]](list)
        """The directory that a number stands for, in each workspace that has it."""

    def watch(self, workspace: str, apart: frozenset[str]) -> Watch | None:
        """Watch a workspace."""
        watched = None
        try:
            self.take()
            self._inotify = self._inotify or Inotify()
            if (watched := self._watched.get((workspace, apart))) is None:
                watched = self._watched[workspace, apart] = _Watched(self, workspace, apart)
                for _ in watched.add(""):
                    pass
        except OSError:
            if watched is not None:
                self.forget(watched)
            return None
        return watched.join()

    def forget(self, watched: _Watched) -> None:
        """Watch a workspace no longer."""
        watched.drop("")
        if self._watched.get((watched.workspace, watched.apart)) is watched:
            del self._watched[watched.workspace, watched.apart]
        if not self._watched and self._inotify is not None:
            self._inotify.close()
            self._inotify = None
            self._places.clear()
            self._heard.clear()

    def add(self, place: str, watched: _Watched, path: str) -> int:
        """Watch one directory. Raises `OSError`."""
        assert self._inotify is not None
        number = self._inotify.add(place)
        self._places[number].append((watched, path))
        return number

    def remove(self, number: int, watched: _Watched, path: str) -> None:
        """Watch one directory of a workspace no longer."""
        places = self._places.get(number, [])
        if (watched, path) in places:
            places.remove((watched, path))
        if not places and self._places.pop(number, None) is not None and self._inotify is not None:
            self._inotify.remove(number)

    def hear(self) -> bool:
        """Hand out what the kernel has told of files, up to the first news of a directory; return whether that was all.

        This does not block.
        """
        if self._inotify is None:
            return True
        self._heard.extend(self._inotify.read())
        handed = set[tuple[int, str]]()
        while self._heard and not self._heard[0].mask & ~inotify.OF_FILES:
            told = self._heard.popleft()
            if (told.directory, told.name) not in handed:  # a file that is written is told of several times
                handed.add((told.directory, told.name))
                for watched, path in self._places.get(told.directory, ()):
                    watched.happened(path, told.mask, told.name)
        return not self._heard

    def take(self) -> None:
        """Hand out what the kernel has told."""
        if self._inotify is None:
            return
        self._heard.extend(self._inotify.read())
        while self._heard:  # what it says may have the queue closed, and this emptied
            self._hand_out(self._heard.popleft())

    def _hand_out(self, told: Told) -> None:
        if told.mask & inotify.OVERFLOW:
            for watched in list(self._watched.values()):
                watched.fail()  # new directories were not told of
        elif told.mask & inotify.IGNORED:
            for watched, path in self._places.pop(told.directory, ()):
                watched.lost(path)
        else:
            for watched, path in list(self._places.get(told.directory, ())):
                watched.happened(path, told.mask, told.name)


_queue = _Queue()


def _is_local(root: str) -> bool:
    """Return whether a directory is on a file system of this machine (proc_pid_mountinfo(5))."""
    place, found = os.fsencode(root), (b"", b"")
    try:
        with open("/proc/self/mountinfo", "rb") as mounts:
            for line in mounts:
                before, _, after = line.partition(b" - ")
                point = _OCTAL.sub(lambda one: bytes([int(one[1], 8)]), before.split(b" ")[4]).rstrip(b"/")
                if (place == point or place.startswith(point + b"/")) and len(point) >= len(found[0]):
                    found = (point, after.split(b" ")[0])
    except OSError:
        return False
    return found[1].decode() in _LOCAL


_OCTAL = re.compile(rb"\\([0-7]{3})")
"""How a blank and the like are written in that file."""
