"""`PlaceMirror`: a copy, on this machine, of the files of a workspace that only its place has."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
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

AT_ONCE = 8
"""Number of files that are brought at once."""

SKIPPED = (".git",)
"""Names of directories that are not copied."""

Entries = Mapping[str, Walked]


class PlaceMirror:
    """A copy of files and links; `.git` and empty directories are not in it. One call at a time."""

    def __init__(self, place: Place, wanted: Callable[[Walked], bool] | None = None) -> None:
        """`wanted` says which files and links are copied; None: all."""
        self._place, self._root, self._wanted = place, place.workspace.path, wanted
        self.directory = f"{runtime_directory.path}/mirror-{token_hex(6)}"
        self._held = False
        self._there: Entries = {}
        """What the workspace was when it was fetched last."""
        self._here: Entries = {}
        """What the copy was then."""

    async def fetch(self) -> None:
        """Make the copy what the workspace is now. Raises `ToolError`, for example if there is too much."""
        if not self._held:
            await anyio.to_thread.run_sync(self._make)
        there = await self._walked()
        old, self._there = self._there, {}  # a fetch that fails leaves a copy that is looked at anew
        here = await anyio.to_thread.run_sync(self._looked)  # `put` may have brought more
        stale = [path for path in {**old, **here} if path not in there or not _is_same(old, there, path)]
        await anyio.to_thread.run_sync(self._drop, stale)
        new = [one for path, one in there.items() if not _is_same(old, there, path)]
        limit = anyio.Semaphore(AT_ONCE)

        async def bring(one: Walked) -> None:
            async with limit:
                await self._bring(one)

        async with anyio.create_task_group() as tasks:
            for one in new:
                tasks.start_soon(bring, one)
        self._there = there
        self._here = await anyio.to_thread.run_sync(self._looked)

    async def put(self) -> frozenset[str]:
        """Make the workspace what the copy is; return the paths that stay because they changed after `fetch`."""
        here, there = await anyio.to_thread.run_sync(self._looked), await self._walked()
        changed = [path for path in {**self._here, **here} if not _is_same(self._here, here, path)]
        stays = {path for path in changed if not _is_same(self._there, there, path)}
        work = [path for path in changed if path not in stays]
        await self._ran("rm -f --", [path for path in work if path in there])
        emptied = {dirname(path) for path in work if path in there and path not in here} - {""}
        await self._ran("rmdir -p --ignore-fail-on-non-empty --", sorted(emptied, reverse=True), check=False)
        for path in work:
            if (one := here.get(path)) is not None and stat.S_ISREG(one.mode):
                data = await anyio.to_thread.run_sync(_read, f"{self.directory}/{path}")
                await self._place.files.write(f"{self._root}/{path}", data)
        links = [one for path in work if (one := here.get(path)) is not None and stat.S_ISLNK(one.mode)]
        for one in links:
            await self._ran('mkdir -p -- "$(dirname -- "$2")" && ln -s --', [one.target, f"./{one.path}"])
        modes = dict[int, list[str]]()
        for path in work:
            if (one := here.get(path)) is not None and stat.S_ISREG(one.mode):
                modes.setdefault(stat.S_IMODE(one.mode) & 0o777, []).append(path)
        for mode, paths in modes.items():
            await self._ran(f"chmod {mode:o} --", paths)
        return frozenset(stays)

    async def close(self) -> None:
        """Remove the copy."""
        await anyio.to_thread.run_sync(self._remove)

    async def _walked(self) -> Entries:
        """Return the files and links of the workspace. One that is gone has none."""
        files = self._place.files
        if await files.status(self._root) is None:
            return {}
        found = await files.walk(self._root, MOST_FILES + 1, SKIPPED)
        if self._wanted is not None:
            found = [one for one in found if stat.S_ISDIR(one.mode) or self._wanted(one)]
        return _checked(found, self._root)

    async def _bring(self, one: Walked) -> None:
        data = b""
        if stat.S_ISREG(one.mode):
            try:
                data = await self._place.files.read(f"{self._root}/{one.path}")
            except ToolError:  # it has gone, or cannot be read
                return
        await anyio.to_thread.run_sync(self._store, one, data)

    def _store(self, one: Walked, data: bytes) -> None:
        path = f"{self.directory}/{one.path}"
        os.makedirs(dirname(path), exist_ok=True)
        if stat.S_ISLNK(one.mode):
            os.symlink(one.target, path)
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(descriptor, stat.S_IMODE(one.mode) & 0o777 | 0o600)

    def _drop(self, paths: Iterable[str]) -> None:
        for path in paths:
            with suppress(OSError):  # it was not brought, or a directory above it has more
                os.unlink(f"{self.directory}/{path}")
                while path := dirname(path):
                    os.rmdir(f"{self.directory}/{path}")

    def _looked(self) -> Entries:
        found = walked(self.directory, 2 * MOST_FILES, SKIPPED)
        return {one[0]: Walked(*one) for one in found if not stat.S_ISDIR(one[1])}

    def _make(self) -> None:
        runtime_directory.hold()
        self._held = True
        os.makedirs(self.directory, mode=0o700)

    def _remove(self) -> None:
        if self._held:
            self._held = False
            shutil.rmtree(self.directory, ignore_errors=True)
            runtime_directory.release()

    async def _ran(self, words: str, paths: list[str], *, check: bool = True) -> None:
        """Run a command of the shell there on paths. Raises `ToolError` if it fails."""
        for at in range(0, len(paths), 200):
            command = ["sh", "-c", f'{words} "$@"', "sh", *paths[at : at + 200]]
            process = await self._place.run(
                command, cwd=self._root, env=self._place.variables, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
            )
            try:
                code = await process.wait()
            finally:
                process.close_pipes()
            if code and check:
                raise ToolError(f"{words.split()[0]} failed in the workspace")


def _is_same(one: Entries, other: Entries, path: str) -> bool:
    return one.get(path) == other.get(path)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _checked(found: list[Walked], root: str) -> Entries:
    """Return files and links by their paths. Raises `ToolError` for too many, or a list that no directory can have."""
    if len(found) > MOST_FILES or sum(one.size for one in found if stat.S_ISREG(one.mode)) > MOST_BYTES:
        raise ToolError(f"{root} has more than {MOST_FILES:,} files or {MOST_BYTES >> 20} MiB")
    kept = {one.path: one for one in found if stat.S_ISREG(one.mode) or stat.S_ISLNK(one.mode)}
    for path in kept:
        parts = path.split("/")
        above = ("/".join(parts[:at]) for at in range(1, len(parts)))
        if not {"", ".", "..", ".git"}.isdisjoint(parts) or "\0" in path or any(one in kept for one in above):
            raise ToolError(f"the place names a file {path!r}, which is none of {root}")
    return kept
