"""`Recollection`: a conversation's access to its past, to earlier conversations and to the memory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio.to_thread

from ..context.recalling import no_longer_seen
from ..errors import ConfigurationError, ToolError
from ..events import Event, ObservationEvent
from ..executing import Models
from ..listing import Hit
from ..sandboxes.reached import ReachedFiles
from ..specs import LocalWorkspace, WorkspaceSpec
from ..specs.memory import KIND, MEMORY_FILES, Scope, kept_lines, memory_name
from ..state import Seen, State, branch
from ..storing import Shelf, replaced
from .event_log import Log

Earlier = Callable[[State, str, int], Awaitable[Sequence[Hit]]]
"""Searches the earlier conversations of a conversation's owner in its workspace for words."""

Lately = Callable[[State], Awaitable[Sequence[tuple[str, Sequence[Event]]]]]
"""Returns the ids of the newest earlier conversations of a conversation's owner in its workspace, each with its newest
messages and calls, the newest first.
"""

MOST_PIECES, MOST_EARLIER = 2000, 100
"""Maximum number of pieces of text that are compared by meaning: in the own conversation, and in each earlier one."""

MOST_BYTES = 1 << 20
"""Maximum size, in bytes, of a memory file that is read."""


class PastParts(Protocol):
    """The parts of a conversation that this module uses."""

    @property
    def earlier(self) -> Earlier | None: ...

    @property
    def lately(self) -> Lately | None: ...

    @property
    def home(self) -> Path | None: ...

    @property
    def shelf(self) -> Shelf | None: ...

    @property
    def beside(self) -> Callable[[str], str] | None: ...


class Recollection:
    """What one conversation can look up: its events, earlier conversations of its owner, and the owner's memories."""

    def __init__(self, log: Log, workspace: WorkspaceSpec, parts: PastParts) -> None:
        self._log, self._workspace, self._earlier, self._home = log, workspace, parts.earlier, parts.home
        self._shelf, self._lately, self._beside = parts.shelf, parts.lately, parts.beside

    @property
    def view(self) -> Sequence[Seen]:
        """What the agent sees now."""
        return self._log.state.branch.view

    async def events(self) -> list[Event]:
        """Return the events that led to the head, up to the first call that has no result yet."""
        asked = min((p.action.seq for p in self._log.state.branch.pending), default=self._log.state.seq + 1)
        return [event for event in branch([event async for event in self._log.events(0)]) if event.seq < asked]

    async def results(self, tool: str) -> list[ObservationEvent]:
        """Return the results of a tool among the events that led to the head."""
        events = branch([event async for event in self._log.events(0)])
        return [event for event in events if isinstance(event, ObservationEvent) and event.tool_name == tool]

    async def event(self, seq: int) -> Event | None:
        """Return the event with this seq if the agent sees it or has seen it, else None."""
        here = self._log.state.branch
        seen = {one.id for one in here.view}
        events = await self.events()
        there = {event.id for event in no_longer_seen(events)} | seen
        return next((event for event in events if event.seq == seq and event.id in there), None)

    async def earlier(self, words: str, limit: int) -> Sequence[Hit]:
        """Return where words occur in earlier conversations. Raise `ConfigurationError` if these cannot be searched."""
        return () if self._earlier is None else await self._earlier(self._log.state, words, limit)

    async def nearest(
        self, query: str, limit: int, models: Models, hide: Callable[[str], str], *, earlier: bool
    ) -> Sequence[Hit]:
        """Return the events nearest in meaning to a query. Raise `ToolError`."""
        from ..context.meaning import pieces_of  # few agents have an embedding model
        from .meaning import nearest_pieces

        if earlier:
            found = [] if self._lately is None else await self._lately(self._log.state)
            pieces = [piece for name, events in found for piece in pieces_of(events, MOST_EARLIER, hide, name)]
        else:
            gone = [*no_longer_seen(await self.events())]
            pieces = pieces_of(reversed(gone), MOST_PIECES, hide)
        if not pieces:
            return ()
        near = await nearest_pieces(query, pieces, limit, models, self._place_beside)
        return [Hit(one.conversation, one.seq, one.kind, one.text, ()) for one in near]

    def _place_beside(self, conversation: str) -> Path | None:
        created = self._log.state.created
        if self._beside is None or created is None:
            return None
        return Path(self._beside(conversation or created.conversation_id))

    async def memory(self, scope: Scope) -> str:
        """Return the notes. Raise `ToolError`."""
        if (name := self._document(scope)) is None:
            return await anyio.to_thread.run_sync(self._read, scope)
        assert self._shelf is not None
        try:
            held = await self._shelf.get(KIND, name)
        except ConfigurationError as error:
            raise ToolError(str(error)) from error
        return held[0].decode("utf-8", "replace") if held is not None else ""

    async def memorize(self, scope: Scope, change: Callable[[str], str]) -> str:
        """Replace the notes by what `change` makes of them, and return the new ones. Raise `ToolError`."""
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
        """Return the name of the document with the owner's memory; None if the memory is in files."""
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
            raise ToolError(f"{path} is not text in UTF-8: correct it, or remove it") from error

    def _write(self, scope: Scope, change: Callable[[str], str]) -> str:
        files, root = self._place(scope)
        with _alone(root):
            notes = kept_lines(change(self._read(scope)))
            files.write(self._path(files, root), notes.encode())
            return notes

    def _place(self, scope: Scope) -> tuple[ReachedFiles, str]:
        if scope == "project":
            return ReachedFiles(self._workspace, within=self._workspace.directory), self._workspace.path
        if self._home is None:
            raise ToolError("there is no memory of the user here: note it for the project")
        home = str(self._home)
        return ReachedFiles(LocalWorkspace(home), within=home), home

    def _path(self, files: ReachedFiles, root: str) -> str:
        """Return the path of the first memory file that is not empty, else of the one to create.

        Raise `ToolError` if the file is a symbolic link, or is reached through one below `root`.
        """
        paths = [f"{root}/{name}" for name in MEMORY_FILES]
        path = next((path for path in paths if (found := files.status(path)) is not None and found.st_size), paths[0])
        if os.path.realpath(path) != os.path.join(os.path.realpath(root), os.path.relpath(path, root)):
            raise ToolError(f"{path} is a symbolic link, or below one: put the file itself there")
        return path


@contextmanager
def _alone(root: str) -> Iterator[None]:
    """Keep others, in this process or another one, from writing a memory in a directory (flock(2)). For a thread."""
    try:
        directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ToolError(f"{root}: {error.strerror}") from error
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
