"""`Bases`: the first tree of a large workspace, which the conversations that work there share.

The first one reads all files, and publishes hard links to its objects and its index. The next ones link them too, and
read only what has changed since. A link stays when the one that it came from is deleted.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from ..storage import sync_directory
from .tree_store import INDEX, MODES, SETTINGS

PUBLISHED = "base"
"""The directory of a store with the links to its first tree."""

MOST_BASES = 1_000
"""Maximum number of workspaces whose base is known; the one that was used least recently is forgotten."""


class Bases:
    """The bases that the stores of one process have published, by workspace."""

    def __init__(self) -> None:
        self._published = dict[Hashable, Path]()
        self._making = WeakValueDictionary[Hashable, anyio.Lock]()

    def making(self, workspace: Hashable) -> anyio.Lock:
        """Return the lock to hold while a first tree is made that others may wait for."""
        if (lock := self._making.get(workspace)) is None:
            lock = self._making[workspace] = anyio.Lock()
        return lock

    async def link(self, workspace: Hashable, store: Path) -> bool:
        """Link the base of a workspace into a store without files; return whether there was one."""
        published = self._published.pop(workspace, None)
        if published is None or not await anyio.to_thread.run_sync(_link, published, store):
            return False
        self._published[workspace] = published
        return True

    async def publish(self, workspace: Hashable, store: Path) -> None:
        """Let others have what a store has now, if it can be linked."""
        if await anyio.to_thread.run_sync(_link, store, store / PUBLISHED):
            self._published[workspace] = store / PUBLISHED
            while len(self._published) > MOST_BASES:
                del self._published[next(iter(self._published))]


def _link(source: Path, target: Path) -> bool:
    """Link the objects of a store durably, then what it knows of the files; return whether that could be done.

    The index comes last: without it, a store has no files. For a thread.
    """
    try:
        for path, _, names in os.walk(source / "objects", onerror=_raise):
            place = target / Path(path).relative_to(source)
            place.mkdir(parents=True, exist_ok=True)
            for name in names:
                with suppress(FileExistsError):
                    os.link(f"{path}/{name}", place / name)
            sync_directory(place)
        for name in (MODES, SETTINGS):
            with suppress(FileNotFoundError):
                os.link(source / name, target / name)
        os.link(source / INDEX, target / INDEX)
    except OSError:
        return False
    return True


def _raise(error: OSError) -> None:
    raise error
