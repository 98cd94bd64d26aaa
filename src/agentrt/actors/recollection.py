"""`Recollection`: what a conversation may look up of its past, and what is noted for later ones."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread

from ..errors import ToolError
from ..events import Event
from ..listing import Hit
from ..specs import LocalWorkspace, Workspace
from ..specs.memory import MEMORY_FILES, Scope, kept_lines, memory_file
from ..state import Seen, State, branch
from ..workspaces.reached import ReachedFiles
from .event_log import Log

Earlier = Callable[[State, str, int], Awaitable[Sequence[Hit]]]
"""Looks for words in the earlier conversations of a conversation's owner in its workspace."""

_WRITING = threading.Lock()
"""Two conversations of this process never write a memory at the same time: one would lose what the other noted."""


class Recollection:
    """What one conversation has: its own events, places in earlier ones of its owner, and that owner's memories."""

    def __init__(self, log: Log, workspace: Workspace, earlier: Earlier | None, home: Path | None) -> None:
        self._log, self._workspace, self._earlier, self._home = log, workspace, earlier, home

    @property
    def view(self) -> Sequence[Seen]:
        """What the agent sees now."""
        return self._log.state.branch.view

    async def events(self) -> list[Event]:
        """The events that led to where the conversation is, but for those of calls that have no result yet."""
        asked = min((p.action.seq for p in self._log.state.branch.pending), default=self._log.state.seq + 1)
        return [event for event in branch([event async for event in self._log.events(0)]) if event.seq < asked]

    async def event(self, seq: int) -> Event | None:
        """One of them; None where there is none of that seq."""
        return next((event for event in await self.events() if event.seq == seq), None)

    async def earlier(self, words: str, limit: int) -> Sequence[Hit]:
        """Where words stand in the earlier conversations. Raises `ConfigurationError` where none can be searched."""
        return () if self._earlier is None else await self._earlier(self._log.state, words, limit)

    async def memory(self, scope: Scope) -> str:
        """What is noted. Raises `ToolError`."""
        return await anyio.to_thread.run_sync(self._read, scope)

    async def memorize(self, scope: Scope, change: Callable[[str], str]) -> str:
        """Have `change` make the notes of what they are; what they are then. Raises `ToolError`."""
        return await anyio.to_thread.run_sync(partial(self._write, scope, change))

    def _read(self, scope: Scope) -> str:
        files, root = self._place(scope)
        path = self._path(files, root)
        if files.status(path) is None:
            return ""
        try:
            return files.read(path).decode()
        except UnicodeDecodeError as error:
            raise ToolError(f"{path} is no text in UTF-8: mend it, or remove it") from error

    def _write(self, scope: Scope, change: Callable[[str], str]) -> str:
        with _WRITING:
            files, root = self._place(scope)
            notes = kept_lines(change(self._read(scope)))
            files.write(self._path(files, root), notes.encode())
            return notes

    def _place(self, scope: Scope) -> tuple[ReachedFiles, str]:
        if scope == "project":
            return ReachedFiles(self._workspace, within=self._workspace.path), self._workspace.path
        if self._home is None:
            raise ToolError("there is no memory of the user here: note it for the project")
        home = str(self._home)
        return ReachedFiles(LocalWorkspace(home), within=home), home

    def _path(self, files: ReachedFiles, root: str) -> str:
        """The file that is there, or the one that is to be."""
        created = self._log.state.created
        owner = created.owner if created is not None else None
        paths = [f"{root}/{memory_file(name, owner)}" for name in MEMORY_FILES]
        return next((path for path in paths if files.status(path) is not None), paths[0])
