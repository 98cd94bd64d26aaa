"""`ReachedFiles`: the files that a tool accesses from this process, by absolute path."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from posixpath import normpath
from typing import TYPE_CHECKING

from anyio.from_thread import check_cancelled

from ..errors import ToolError, WorkspaceError
from ..placing import Walked
from ..specs import WorkspaceSpec
from .beneath import Beneath
from .rated_ends import RatedEnds, Unrated
from .walking import walked

if TYPE_CHECKING:
    from .box import Box
    from .fence import Fence
    from .holding import Root

READ, WRITE = "read", "write"
"""What a tool does with a file."""

_AT_ONCE = 1_000
"""Number of files that are looked at between two steps."""


class ReachedFiles:
    """All files of this machine, if the commands of the workspace run on it. For a container, only the files of the
    workspace, which its commands see too; a link leads where it would lead for them. With `within`, only the files
    below that directory. With a box, what it shows. All functions are for a thread: they block.
    """

    def __init__(
        self,
        workspace: WorkspaceSpec,
        within: str | None = None,
        ends: Mapping[str, str] | None = None,
        wall: Callable[[], Box | Fence | None] | None = None,
    ) -> None:
        """With `ends`, files are opened only at the places that a rating has seen, see `RatedEnds`. `wall` returns
        what confines the programs, to whose files these are kept; None if nothing does.
        """
        self._workspace, self._within, self._wall = workspace, within, wall
        self._confined = not workspace.on_this_machine
        self._root = normpath(within or (workspace.directory if self._confined else "/"))
        self._prefix = f"{self._root.rstrip('/')}/"
        self._rated = RatedEnds(workspace.path, ends) if ends is not None else None
        self._here = Beneath(self._root, None if self._rated is None else self._check)

    @property
    def _tree(self) -> Beneath:
        return self._for(READ)

    def _for(self, access: str) -> Beneath:
        """Return the tree to read, or to write. Raises `ToolError`."""
        if (wall := self._held) is None:
            return self._here
        base = wall.root()

        def check(path: str, real: str) -> None:
            wall.check(f"{self._prefix}{path}", real, access)
            if self._rated is not None:
                self._check(path, real)

        return Beneath(base.path if base else self._root, check, self._root, base)

    @property
    def _held(self) -> Box | Fence | None:
        return self._wall() if self._wall is not None else None

    @property
    def _base(self) -> Root | None:
        """The root of the box; None without one. Raises `ToolError`."""
        wall = self._held
        return None if wall is None else wall.root()

    def rated(self, ends: Mapping[str, str]) -> ReachedFiles:
        """Return the same files for an action that was rated when these paths led to these places."""
        return ReachedFiles(self._workspace, self._within, ends, self._wall)

    def _check(self, path: str, real: str) -> None:
        assert self._rated is not None
        _checked(self._rated.check, f"{self._prefix}{path}", real)

    def _check_before(self, path: str) -> None:
        if self._rated is None:
            return
        if self._base is None:
            _checked(self._rated.check_before, normpath(path))
            return
        with suppress(WorkspaceError):  # the way to it is told of as it is opened
            below = self._below(path)
            real = self._tree.real(below) if self._tree.exists(below) else f"/{self._tree.leads_to(below)}"
            _checked(self._rated.check, normpath(path), real)

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of what is at a path, links followed; None if nothing is. Raises `ToolError`."""
        try:
            return self._tree.status(self._below(path))
        except WorkspaceError as error:
            raise self._told(path, error) from error

    def real(self, path: str) -> str:
        """Return the path, without links in it, of an existing file or directory. Raises `ToolError`."""
        try:
            return self._tree.real(self._below(path))
        except WorkspaceError as error:
            raise self._told(path, error) from error

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises `ToolError`."""
        try:
            with self._tree.open(self._below(path)) as file:
                return file.readall()
        except WorkspaceError as error:
            raise self._told(path, error) from error

    def write(self, path: str, data: bytes) -> None:
        """Write a file, which may be new, whole or not at all. Raises `ToolError`."""
        self._check_before(path)
        try:
            self._for(WRITE).rewrite(self._below(path), data, bits=0o777 if self._confined else 0o7777)
        except WorkspaceError as error:
            raise self._told(path, error) from error

    def move(self, path: str, target: str) -> None:
        """Move a file to another path, where nothing is. Raises `ToolError`."""
        self._check_before(target)
        try:
            self._for(WRITE).move(self._below(path), self._below(target))
        except WorkspaceError as error:
            raise self._told(path, error) from error

    def remove(self, path: str) -> None:
        """Remove a file. Raises `ToolError`."""
        try:
            self._for(WRITE).remove(self._below(path))
        except WorkspaceError as error:
            raise self._told(path, error) from error

    def names(self, path: str) -> list[tuple[str, bool, bool]]:
        """Return the entries of a directory, sorted: each name, whether it is a directory once links are followed, and
        whether it is a link. Raises `ToolError`.
        """
        found = []
        self._refuse(path, self.real(path))
        try:
            for entry in self._tree.list(self._below(path)):
                is_link, is_directory = entry.type == "link", entry.type == "directory"
                if is_link:
                    is_directory = self._is_directory(f"{path}/{entry.name}")
                found.append((entry.name, is_directory, is_link))
        except WorkspaceError as error:
            raise self._told(path, error) from error
        return sorted(found)

    def walk(self, path: str, most: int, skipped: Collection[str] = ()) -> list[Walked]:
        """Return what is below a directory, at most `most` of it; no link is followed. Raises `ToolError`."""
        real, base = self.real(path), self._base
        self._refuse(path, real)
        try:
            return [Walked(*one) for one in walked(f"{base.path if base else ''}{real}", most, skipped)]
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror or error}") from error

    def modified(self, directory: str, paths: Sequence[str], step: Callable[[], object] = check_cancelled) -> list[int]:
        """Return when files below a directory were changed last, in nanoseconds; 0 for one that is gone.

        Paths relative to an open directory are faster. `step` is called regularly; an exception from it ends the work.
        """
        base = self._base
        try:
            descriptor = os.open(f"{base.path if base else ''}{directory}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return [0] * len(paths)
        found = list[int]()
        try:
            for at, path in enumerate(paths):
                if not at % _AT_ONCE:
                    step()
                try:
                    found.append(os.stat(path, dir_fd=descriptor, follow_symlinks=False).st_mtime_ns)
                except OSError:
                    found.append(0)
        finally:
            os.close(descriptor)
        return found

    def _refuse(self, path: str, real: str) -> None:
        """Raise `ToolError` if what is in a directory must not be read."""
        if (wall := self._held) is not None:
            wall.check(path, real, READ)

    def _is_directory(self, path: str) -> bool:
        try:
            status = self.status(path)
        except ToolError:
            return False
        return status is not None and stat.S_ISDIR(status.st_mode)

    def _below(self, path: str) -> str:
        """Return the path relative to the root. Raises `ToolError` for a path that is not below it."""
        path = normpath(path)
        if not f"{path}/".startswith(self._prefix):
            raise self._outside(path)
        return path[len(self._prefix) :]

    def _outside(self, path: str) -> ToolError:
        return ToolError(
            f"{path} leads out of the workspace {self._root}: only what is in it is the same here and in the container;"
            " use the terminal, which runs there"
        )

    def _told(self, path: str, error: WorkspaceError) -> ToolError:
        if error.code == "path-outside" and self._confined:
            return self._outside(path)
        cause = error.__cause__
        return ToolError(f"{path}: {cause.strerror if isinstance(cause, OSError) else error}")


def _checked(check: Callable[..., None], *paths: str) -> None:
    try:
        check(*paths)
    except Unrated as error:
        raise ToolError(str(error)) from error
