"""`TreeIndex`: a git index that follows the files of a workspace, or of a repository in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..errors import WorkspaceError
from .left_out import ignored
from .standing import Standing, standing
from .tree_limits import MANY, Most, check_size, is_little
from .tree_store import Settings, TreeStore, entries, excluding

STAGING = ".agentrt-restoring-"
"""Prefix of the names of directories that hold files which are about to be restored."""

_CLOSED = re.compile(r"^warning: could not open directory '(.*?)/?': ", re.MULTILINE)


class Followed(msgspec.Struct, frozen=True):
    """The result of bringing an index up to date: the settings afterwards, and what was found."""

    settings: Settings
    changed: bool
    repositories: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    modes: dict[str, int] = {}
    kept: frozenset[str] = frozenset()
    """The paths that were read."""
    failed: str = ""
    """Why the index could not be updated, for example because a file was gone when it was to be read."""


class TreeIndex:
    """The index of a workspace or of a repository in it. Paths are relative to the workspace, except those for git."""

    def __init__(
        self, store: TreeStore, workspace: str, below: str | None, nested: Iterable[str], apart: Sequence[str]
    ) -> None:
        """`below` is the path of the repository; None: the workspace itself. Repositories that are `nested` in it and
        the paths `apart` are left alone.
        """
        self._store, self._prefix = store, f"{below}/" if below else ""
        self._index = store.index_of(below) if below else store.index
        self._tree = f"{workspace}/{below}" if below else workspace
        without = [one.removeprefix(self._prefix) for one in (*nested, *apart) if one.startswith(self._prefix)]
        staging = [] if below else [f":(exclude,top,glob){STAGING}*/**"]
        self._specs = [".", *excluding(one for one in without if one), *staging]

    async def follow(self, settings: Settings, most: Most) -> Followed:
        """Bring the index up to date. Raises `WorkspaceError` if a limit is exceeded."""
        if await anyio.to_thread.run_sync(entries, self._index) > most.files:
            raise WorkspaceError("too-many-files", f"{self._tree} has more than {most.files:,}")
        hidden, (listed, closed) = await self._seen(settings)
        if settings.ignored and not await anyio.to_thread.run_sync(is_little, self._tree, listed, most):
            much, _ = await self._listed("--others", "--ignored", "--exclude-standard")
            if not await anyio.to_thread.run_sync(is_little, self._tree, much, most):
                settings = replace(settings, ignored=False)
                hidden, (listed, closed) = await self._seen(settings)
        stored = await anyio.to_thread.run_sync(check_size, self._tree, listed, most, settings.stored)
        found = await anyio.to_thread.run_sync(standing, self._tree, listed)
        failed = await self._update(found)
        hidden += [] if settings.ignored else await self._ignored()
        return Followed(
            replace(settings, stored=stored) if found.files and not failed else settings,
            bool(found.files or found.gone or found.left_out),
            self._from_workspace(found.repositories),
            self._from_workspace((*found.left_out, *closed, *hidden)),
            {f"{self._prefix}{path}": mode for path, mode in found.modes.items()},
            frozenset(self._from_workspace(found.files)),
            failed,
        )

    def _from_workspace(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{self._prefix}{path}" for path in paths)

    async def _seen(self, settings: Settings) -> tuple[list[str], tuple[list[str], list[str]]]:
        """Return the ignored paths that are left out, and then what git lists. A path in neither did not exist.

        Ask for the ignored paths again once the files were read, because other files may be ignored by then.
        """
        hidden = [] if settings.ignored else await self._ignored()
        return hidden, await self._listed("--others", "--modified", *_not_ignored(settings.ignored))

    async def _listed(self, *options: str) -> tuple[list[str], list[str]]:
        """Return what git lists, and the directories that may not be read."""
        given = ("ls-files", "-z", *options, "--", *self._specs)
        said = await self._store.git(*given, index=self._index, tree=self._tree)
        closed = _CLOSED.findall(said.errors.decode("utf-8", "surrogateescape"))
        if not all(closed):
            raise WorkspaceError("file-permission", f"{self._tree} may not be read")
        listed = said.output.decode("utf-8", "surrogateescape").split("\0")[:-1]
        return listed, [f"{path}/" for path in closed]

    async def _ignored(self) -> list[str]:
        listed, _ = await self._listed("--others", "--ignored", "--exclude-standard", "--directory")
        return ignored(listed)

    async def _update(self, found: Standing) -> str:
        """Have the index read files and forget others. Return the reason if that failed, for example because a file is
        gone; otherwise "".
        """
        if len(found.files) >= MANY:
            await self._import(found.files)
        for paths, options in (((*found.gone, *found.left_out), _REMOVING), (found.files, _ADDING)):
            if not paths:
                continue
            given = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
            asked = ("update-index", *options, "-z", "--stdin")
            said = await self._store.git(*asked, index=self._index, tree=self._tree, given=given, check=False)
            if said.code:
                return said.errors.decode("utf-8", "replace").strip().split("\n")[-1]
        return ""

    async def _import(self, paths: Sequence[str]) -> None:
        """Store files, which spares the index to store each; those that are missed it stores itself."""
        waiting = await anyio.to_thread.run_sync(self._imports, paths)
        while (given := await anyio.to_thread.run_sync(next, waiting, None)) is not None:
            said = await self._store.git("fast-import", "--quiet", "--force", "--depth=0", given=given, check=False)
            if said.code:
                return

    def _imports(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Return the input of git for some files. For a thread."""
        from .importing import imports  # only a large workspace needs it

        return imports(self._tree, paths)


_REMOVING = ("--force-remove",)
_ADDING = ("-q", "--refresh", "--add", "--remove", "--replace")


def _not_ignored(kept: bool) -> tuple[str, ...]:
    return () if kept else ("--exclude-standard",)
