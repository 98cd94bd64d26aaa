"""`Recollection`: what a conversation may look up of its past, and what is noted for later ones."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anyio.to_thread

from ..context.recalling import no_longer_seen
from ..errors import ConfigurationError, ToolError
from ..events import Event, ObservationEvent
from ..listing import Hit
from ..specs import LocalWorkspace, Workspace
from ..specs.memory import KIND, MEMORY_FILES, Scope, kept_lines, memory_name
from ..state import Seen, State, branch
from ..storing import Shelf, replaced
from ..workspaces.reached import ReachedFiles
from .event_log import Log

Earlier = Callable[[State, str, int], Awaitable[Sequence[Hit]]]
"""Looks for words in the earlier conversations of a conversation's owner in its workspace."""

MOST_BYTES = 1 << 20
"""A larger memory is not read."""


class Recollection:
    """What one conversation has: its own events, places in earlier ones of its owner, and that owner's memories."""

    def __init__(
        self, log: Log, workspace: Workspace, earlier: Earlier | None, home: Path | None, shelf: Shelf | None
    ) -> None:
        self._log, self._workspace, self._earlier, self._home = log, workspace, earlier, home
        self._shelf = shelf

    @property
    def view(self) -> Sequence[Seen]:
        """What the agent sees now."""
        return self._log.state.branch.view

    async def events(self) -> list[Event]:
        """The events that led to where the conversation is, but for those of calls that have no result yet."""
        asked = min((p.action.seq for p in self._log.state.branch.pending), default=self._log.state.seq + 1)
        return [event for event in branch([event async for event in self._log.events(0)]) if event.seq < asked]

    async def results(self, tool: str) -> list[ObservationEvent]:
        """The results of a tool that led to where the conversation is."""
        events = branch([event async for event in self._log.events(0)])
        return [event for event in events if isinstance(event, ObservationEvent) and event.tool_name == tool]

    async def event(self, seq: int) -> Event | None:
        """One of them that the agent has seen; None where there is none of that seq."""
        here = self._log.state.branch
        seen = {one.id for one in here.view}
        events = await self.events()
        there = {event.id for event in no_longer_seen(events)} | seen
        return next((event for event in events if event.seq == seq and event.id in there), None)

    async def earlier(self, words: str, limit: int) -> Sequence[Hit]:
        """Where words stand in the earlier conversations. Raises `ConfigurationError` where none can be searched."""
        return () if self._earlier is None else await self._earlier(self._log.state, words, limit)

    async def memory(self, scope: Scope) -> str:
        """What is noted. Raises `ToolError`."""
        if (name := self._document(scope)) is None:
            return await anyio.to_thread.run_sync(self._read, scope)
        assert self._shelf is not None
        try:
            held = await self._shelf.get(KIND, name)
        except ConfigurationError as error:
            raise ToolError(str(error)) from error
        return held[0].decode("utf-8", "replace") if held is not None else ""

    async def memorize(self, scope: Scope, change: Callable[[str], str]) -> str:
        """Have `change` make the notes of what they are; what they are then. Raises `ToolError`."""
        if (name := self._document(scope)) is None:
            return await anyio.to_thread.run_sync(partial(self._write, scope, change))
        assert self._shelf is not None

        def changed(before: bytes | None) -> bytes:
            return kept_lines(change((before or b"").decode("utf-8", "replace"))).encode()

        try:
            return (await replaced(self._shelf, KIND, name, changed)).decode()
        except ConfigurationError as error:
            raise ToolError(str(error)) from error

    def _document(self, scope: Scope) -> str | None:
        """The document of an owner's memory; None for who has a memory in files."""
        created = self._log.state.created
        if created is None or created.owner is None or self._shelf is None:
            return None
        return memory_name(created.owner, scope, created.workspace.path)

    def _read(self, scope: Scope) -> str:
        files, root = self._place(scope)
        path = self._path(files, root)
        if (found := files.status(path)) is None:
            return ""
        if found.st_size > MOST_BYTES:
            raise ToolError(f"{path} is larger than {MOST_BYTES >> 20} MiB: make it shorter first")
        try:
            return files.read(path).decode()
        except UnicodeDecodeError as error:
            raise ToolError(f"{path} is no text in UTF-8: correct it, or remove it") from error

    def _write(self, scope: Scope, change: Callable[[str], str]) -> str:
        files, root = self._place(scope)
        with _alone(root):
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
        """The file that is there and says something, or the one that is to be. Raises `ToolError` for a link."""
        paths = [f"{root}/{name}" for name in MEMORY_FILES]
        path = next((path for path in paths if (found := files.status(path)) is not None and found.st_size), paths[0])
        if os.path.realpath(path) != os.path.join(os.path.realpath(root), os.path.relpath(path, root)):
            raise ToolError(f"{path} is a link, or stands below one: have the file itself there")
        return path


@contextmanager
def _alone(root: str) -> Iterator[None]:
    """While nobody else writes a memory below a directory, in this process or another one (flock(2)); for a thread."""
    try:
        directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ToolError(f"{root}: {error.strerror}") from error
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
