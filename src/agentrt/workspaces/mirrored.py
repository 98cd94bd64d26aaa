"""`MirroredTrees`: versions of the files of a workspace that only its place has, kept from a copy on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ..errors import ToolError, WorkspaceError
from ..placing import Mirror
from ..sandboxes.mirror import TooMuch
from .tree_listing import Change
from .trees import Kept, Restored, Trees


class MirroredTrees(Trees):
    """The trees of one workspace. The copy is brought up to date before each look."""

    def __init__(self, directory: str, mirror: Mirror, origins: Sequence[str] = (), **given: Any) -> None:
        super().__init__(directory, mirror.directory, origins, **given)
        self._mirror = mirror

    async def aclose(self) -> None:
        """Remove the copy."""
        await super().aclose()
        await self._mirror.close()

    def is_still(self, tree: str) -> bool:
        """Return False: a look at the place would be needed."""
        return False

    async def changed_since(self, moment: int) -> bool:
        """Return True: the clock there may be another."""
        return True

    def own(self, paths: Iterable[str]) -> None:
        """Return None: where the paths lead is known there only."""

    async def keep(self, paths: Collection[str] | None = None, *, whole: bool = False) -> Kept:
        """Return the tree of the files as they are now. Raises `WorkspaceError`."""
        try:
            await self._mirror.fetch()
        except ToolError as error:
            raise WorkspaceError("too-many-files" if isinstance(error, TooMuch) else "file", str(error)) from error
        return await super().keep(None, whole=whole)

    async def restore(self, target: str, theirs: Iterable[Change] = (), through: Sequence[str] = ()) -> Restored:
        """Restore the files to those of a tree. Raises `WorkspaceError`."""
        done = await super().restore(target, theirs, through)
        try:
            stayed = await self._mirror.put()
        except ToolError as error:
            raise WorkspaceError("file", str(error)) from error
        left = tuple(sorted({*done.left, *stayed}))
        return replace(done, done=tuple(path for path in done.done if path not in stayed), left=left)
