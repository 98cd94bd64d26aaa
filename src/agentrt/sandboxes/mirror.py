"""`PlaceMirror`: a copy, on this machine, of the files of a workspace that only its place has.

What the place says of its files is not trusted: paths, sizes and kinds are checked, and each part of a path in the copy
is opened by itself and never through a link.
"""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from posixpath import dirname
from secrets import token_hex

import anyio
import anyio.to_thread

from ..errors import ToolError
from ..placing import DEVNULL, Place, Walked
from ..scratch import runtime_directory
from .walking import walked

MOST_FILES = 20_000
"""Maximum number of files and directories."""

MOST_BYTES = 256 << 20
"""Maximum bytes of all files: each is brought here once, and again when it has changed."""

LONGEST_PATH, LONGEST_NAME, DEEPEST = 4_000, 255, 100
"""Maximum bytes of a path and of a part of it, and maximum number of its parts."""

AT_ONCE = 4
"""Number of files that are brought at once."""

SKIPPED = (".git",)
"""Names that are not copied."""

_THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Entries = Mapping[str, Walked]


class TooMuch(ToolError):
    """Raised for more files or bytes than are copied."""


class PlaceMirror:
    """A copy of files and links; `.git` and empty directories are not in it. One call at a time."""

    def __init__(
        self,
        place: Place,
        wanted: Callable[[Walked], bool] | None = None,
        root: str | None = None,
        skipped: Collection[str] = (),
    ) -> None:
        """`wanted` says which files and links are copied (None: all); those that cannot be read are then left out.

        `root` is the directory there (None: the workspace), without the directories whose names are `skipped`.
        """
        self._place, self._root, self._wanted = place, root or place.workspace.path, wanted
        self._skipped = (*SKIPPED, *skipped)
        self.directory = f"{runtime_directory.path}/mirror-{token_hex(6)}"
        self._held = self._closed = False
        self._alone = threading.Lock()
        self._there: Entries = {}
        """The entries that were fetched, as the place listed them."""
        self._here: Entries = {}
        """What the copy was then."""

    async def fetch(self) -> None:
        """Make the copy what the workspace is now. Raises `ToolError`, for example if there is too much."""
        try:
            await self._fetch()
        except (OSError, ValueError) as error:
            raise ToolError(f"the files of {self._root} cannot be copied: {error}") from error

    async def _fetch(self) -> None:
        await anyio.to_thread.run_sync(self._make)
        there, _ = await self._walked()
        old, self._there = self._there, {}  # a fetch that fails leaves a copy that is made anew
        here = await anyio.to_thread.run_sync(self._looked)
        same = {path for path in there if path in here and _is_same(old, there, path)}
        same = {path for path in same if _is_same(self._here, here, path)}
        if len(same) == len(there) == len(here):
            self._there = there
            return
        await anyio.to_thread.run_sync(self._drop, [path for path in here if path not in same])
        brought = {path: there[path] for path in same}
        left, failed = MOST_BYTES - sum(one.size for one in brought.values()), list[Exception]()
        limit = anyio.Semaphore(AT_ONCE)

        async def bring(one: Walked) -> None:
            nonlocal left
            async with limit:
                try:
                    if (data := await self._content(one)) is None:
                        return
                    left -= len(data)
                    if left < 0:
                        raise self._too_much
                    await anyio.to_thread.run_sync(self._store, one, data)
                    brought[one.path] = one
                except (ToolError, OSError, ValueError) as error:
                    failed.append(error)
                    tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for path, one in there.items():
                if path not in same:
                    tasks.start_soon(bring, one)
        if failed:
            raise failed[0]
        self._here = await anyio.to_thread.run_sync(self._looked)
        self._there = brought

    async def put(self) -> frozenset[str]:
        """Make the workspace what the copy is; return the paths that stay as they are there: those that changed after
        `fetch`, and those that could not be written. Raises `ToolError` if nothing could be.
        """
        old, self._there = self._there, {}  # what is there is looked at anew, whatever this does
        here = await anyio.to_thread.run_sync(self._looked)
        there, directories = await self._walked()
        changed = sorted(path for path in {**self._here, **here} if not _is_same(self._here, here, path))
        work = [path for path in changed if _is_same(old, there, path)]
        times = await self._place.files.modified(self._root, work)
        stays = set(changed).difference(work)
        # what goes makes room for what comes
        for path, time in sorted(zip(work, times, strict=True), key=lambda one: (one[0] in here, one[0])):
            try:
                # a directory in the way is removed only if it is empty
                if path not in directories and await self._place.files.modified(self._root, [path]) != [time]:
                    raise ToolError("it has changed meanwhile")
                await self._put(path, there.get(path), here.get(path), is_directory=path in directories)
            except (ToolError, OSError, ValueError):
                stays.add(path)
        return frozenset(stays)

    async def _put(self, path: str, old: Walked | None, new: Walked | None, *, is_directory: bool) -> None:
        """Make one path there what it is here. Raises `ToolError`, `OSError` and `ValueError`."""
        if is_directory:
            await self._ran('[ ! -d "$1" ] || [ -L "$1" ] || find "$1" -depth -type d -exec rmdir {} +', path)
        was_file = old is not None and stat.S_ISREG(old.mode)
        stays_file = was_file and new is not None and stat.S_ISREG(new.mode)
        if old is not None and not stays_file:
            await self._ran('rm -f -- "$1"; rmdir -p -- "$2" 2>/dev/null; :', path, dirname(path))
        if new is None:
            return
        if stat.S_ISLNK(new.mode):
            script = '[ ! -e "$1" ] && [ ! -L "$1" ] && mkdir -p -- "$2" && ln -s -- "$3" "$1"'
            await self._ran(script, path, dirname(path) or ".", new.target)
            return
        data = await anyio.to_thread.run_sync(self._read, path)
        await self._place.files.write_itself(f"{self._root}/{path}", data)  # a link may have come meanwhile
        if old is None or not was_file or (old.mode ^ new.mode) & 0o111:
            await self._ran(f'chmod {stat.S_IMODE(new.mode) & 0o777:o} -- "$1"', path)

    async def close(self) -> None:
        """Remove the copy."""
        await anyio.to_thread.run_sync(self._remove)

    @property
    def _too_much(self) -> TooMuch:
        return TooMuch(f"{self._root} has more than {MOST_FILES:,} files and directories, or {MOST_BYTES >> 20} MiB")

    async def _walked(self) -> tuple[Entries, Collection[str]]:
        """Return the files and links of the workspace, and its directories; none if the workspace is gone."""
        files = self._place.files
        if await files.status(self._root) is None:
            return {}, ()
        found = await files.walk(self._root, MOST_FILES + 1, self._skipped)
        return await anyio.to_thread.run_sync(self._checked, found)

    def _checked(self, found: list[Walked]) -> tuple[Entries, Collection[str]]:
        """Return what was found if a directory can have it. Raises `ToolError`."""
        if len(found) > MOST_FILES:
            raise self._too_much
        entries, directories, size = dict[str, Walked](), {""}, 0
        for one in found:
            above, _, name = one.path.rpartition("/")
            odd = above not in directories or not _is_name(name) or one.path in entries or one.path in directories
            if odd or len(os.fsencode(one.path)) > LONGEST_PATH or one.path.count("/") >= DEEPEST:
                raise ToolError(f"the place names a file {one.path[:200]!r}, which {self._root} cannot have")
            if stat.S_ISDIR(one.mode):
                directories.add(one.path)
                continue
            is_link = stat.S_ISLNK(one.mode)
            if (not is_link and not stat.S_ISREG(one.mode)) or (self._wanted is not None and not self._wanted(one)):
                continue
            if one.size < 0 or (is_link and not 0 < len(os.fsencode(one.target)) <= LONGEST_PATH) or "\0" in one.target:
                raise ToolError(f"the place says of {one.path!r} what no file is")
            entries[one.path] = one
            size += one.size
        if size > MOST_BYTES:
            raise self._too_much
        return entries, directories

    async def _content(self, one: Walked) -> bytes | None:
        """Return what a file has; None for one that is gone. Raises `ToolError` if it cannot be read."""
        if stat.S_ISLNK(one.mode):
            return b""
        path = f"{self._root}/{one.path}"
        try:
            return await self._place.files.read(path)
        except ToolError:
            if self._wanted is not None or await self._place.files.status(path) is None:
                return None
            raise

    # the copy: all in threads

    @contextmanager
    def _above(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Yield a descriptor of the directory of a path, and the name there. No link is followed. Raises `OSError`."""
        *parts, name = path.split("/")
        here = os.open(self.directory, _THROUGH)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=here)
                below = os.open(part, _THROUGH, dir_fd=here)
                os.close(here)
                here = below
            yield here, name
        finally:
            os.close(here)

    def _store(self, one: Walked, data: bytes) -> None:
        with self._alone:
            if self._closed:
                raise ToolError("the copy was removed")
            with self._above(one.path, make=True) as (above, name):
                if stat.S_ISLNK(one.mode):
                    os.symlink(one.target, name, dir_fd=above)
                    return
                with open(os.open(name, _NEW, 0o600, dir_fd=above), "wb") as file:
                    file.write(data)
                    os.fchmod(file.fileno(), (stat.S_IMODE(one.mode) & 0o777) | 0o600)

    def _read(self, path: str) -> bytes:
        with self._above(path) as (above, name):
            with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above), "rb") as file:
                return file.read()

    def _drop(self, paths: Collection[str]) -> None:
        for path in paths:
            with suppress(FileNotFoundError), self._above(path) as (above, name):
                os.unlink(name, dir_fd=above)
            while path := dirname(path):
                try:
                    with self._above(path) as (above, name):
                        os.rmdir(name, dir_fd=above)
                except OSError:
                    break  # it has more

    def _looked(self) -> Entries:
        found = walked(self.directory, 4 * MOST_FILES * DEEPEST)
        return {one[0]: Walked(*one) for one in found if not stat.S_ISDIR(one[1])}

    def _make(self) -> None:
        with self._alone:
            if self._closed:
                raise ToolError("the copy was removed")
            if not self._held:
                runtime_directory.hold()
                self._held = True
            os.makedirs(self.directory, mode=0o700, exist_ok=True)

    def _remove(self) -> None:
        with self._alone:
            self._closed = True
            if self._held:
                self._held = False
                shutil.rmtree(self.directory, ignore_errors=True)
                runtime_directory.release()

    async def _ran(self, script: str, *words: str) -> None:
        """Run a script of the shell there; paths are given below the workspace. Raises `ToolError` if it fails."""
        first = f"./{words[0]}"
        command = ["sh", "-c", script, "sh", first, *words[1:]]
        process = await self._place.run(
            command, cwd=self._root, env=self._place.variables, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
        try:
            code = await process.wait()
        finally:
            process.close_pipes()
        if code:
            raise ToolError(f"{words[0]} cannot be changed in the workspace")


def _is_same(one: Entries, other: Entries, path: str) -> bool:
    return one.get(path) == other.get(path)


def _is_name(name: str) -> bool:
    return name not in ("", ".", "..", *SKIPPED) and "\0" not in name and len(os.fsencode(name)) <= LONGEST_NAME
