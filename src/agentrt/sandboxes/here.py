"""`Here`: the place of a `LocalWorkspace`, this machine.

Its programs are in a box (`box.py`), which is made with the first of them, and its files are those that the box shows.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ..errors import ToolError
from ..placing import PIPE, AsyncFiles, PlaceFacts, Python, Reader, Rlimits, Setting, Stream
from ..scratch import RUNTIME, remove_tree, runtime_directory
from ..specs import LocalWorkspace, WorkspaceSpec
from .environment import passed
from .processes import CONVERSATION, end_left, new_mark
from .starting import Begun, Started, opened, unconfined

if TYPE_CHECKING:
    from .box import Box
    from .fence import Fence
    from .holding import Hold
    from .local import LocalConsole


class Here:
    """This machine. Its shells get no variable of this process in which `masked` finds a secret."""

    def __init__(
        self,
        workspace: WorkspaceSpec,
        setting: Setting,
        probe: Callable[[], str] | None = None,
        hold: Hold | None = None,
    ) -> None:
        """`probe` says why this machine can confine nothing, if so, and `hold` makes a box; None: by what works."""
        self.workspace, self._probe, self._hold = workspace, probe, hold
        self._wanted = (
            workspace if isinstance(workspace, LocalWorkspace) else LocalWorkspace(workspace.path, confine="off")
        )
        self._setting = setting
        self._masked, self._conversation = setting.masked, setting.conversation
        self._files: AsyncFiles | None = None
        self._deciding, self._is_decided = threading.Lock(), self._wanted.confine == "off"
        self._wall: Box | Fence | None = None
        self._unheld = ""
        self._talking = set[str]()
        """Directories of sockets by which programs here talk with this process."""
        self._outside: Here | None = None

    def wall(self) -> Box | Fence | None:
        """Return what confines its programs; None if nothing does. For a thread.

        Raises `ToolError` if the workspace requires one, and there can be none.
        """
        with self._deciding:
            if not self._is_decided:
                from .box import Box, cannot_hold
                from .fence import Fence, cannot_fence, fence_is_missing
                from .holding import whats_missing

                path, given = self._wanted.path, self._wanted
                refused = cannot_hold(path)
                if not (missing := refused or (self._probe or whats_missing)()):
                    self._wall = Box(path, self._setting.hidden, given.caches, self._hold)
                elif given.confine == "require":
                    raise ToolError(f"nothing can run here, since it has to be confined: {missing}")
                elif refused:
                    self._unheld = refused
                elif less := fence_is_missing() or cannot_fence(path, self._setting.hidden):
                    self._unheld = f"{missing}; with Landlock: {less}"
                else:
                    self._wall = Fence(path, self._setting.hidden, given.caches)
                self._is_decided = True
            return self._wall

    async def unheld(self) -> str:
        """Return why nothing confines what runs here though it should be; "" if something does, or nothing has to."""
        if not self._is_decided:
            await anyio.to_thread.run_sync(self.wall)
        return self._unheld

    def _begin(self, command: Sequence[str], **given: Any) -> Begun:
        wall = self.wall()
        if wall is None:
            return unconfined(command, **given)
        talks = any(word.startswith(directory) for word in command for directory in self._talking)
        return wall.spawned(command, talks=talks, **given)

    def _read(self, reader: Reader, command: Sequence[str], **given: Any) -> Begun:
        """Start a program that only reads. `reader` is for one without a conversation."""
        wall = self.wall()
        return unconfined(command, **given) if wall is None else wall.read(command, **given)

    def directory(self, prefix: str, *, writable: bool = False) -> str:
        """Make a private directory that its programs see, and return its path. For a thread. Raises `OSError` and
        `ToolError`.

        What this process itself writes there must not be `writable` for programs in a box: they could put a link in
        the place of what it opens next.
        """
        wall = self.wall()
        return runtime_directory.directory(prefix) if wall is None else wall.directory(prefix, writable=writable)

    @property
    def has_wall(self) -> bool:
        """Whether something confines its programs, and removes their directories at the end."""
        return self._wall is not None

    def remove(self, directory: str) -> None:
        """Remove what `directory` has made. For a thread."""
        runtime_directory.remove(directory) if self._wall is None else remove_tree(directory)

    @property
    def files(self) -> AsyncFiles:
        """The files of this machine that its programs see."""
        if self._files is None:
            from .reached import ReachedFiles

            self._files = AsyncFiles(ReachedFiles(self.workspace, wall=self.wall))
        return self._files

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of this process, without what programs behind a wall do not need."""
        return os.environ if self._wanted.confine == "off" else passed(os.environ, self._wanted.variables)

    async def python(self) -> Python:
        """Return the Python of this process."""
        return Python(sys.executable, str(Path(__file__).parent.parent))

    @asynccontextmanager
    async def shared(self, name: str) -> AsyncIterator[tuple[str, str]]:
        """Provide the path of a socket in a directory for temporary files."""
        made = await anyio.to_thread.run_sync(self.directory, "shared-")
        try:
            yield (path := f"{made}/{name}"), path
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.remove, made)

    async def prepare(self) -> bool:
        """Make the workspace's directory if it is gone, and return whether it was: no process could start without it.

        Raises `ToolError`.
        """
        try:
            return await anyio.to_thread.run_sync(_make, self.workspace.path)
        except OSError as error:
            raise ToolError(f"the workspace {self.workspace.path} is not there: {error.strerror or error}") from error

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stream = PIPE,
        stdout: Stream = PIPE,
        stderr: Stream = PIPE,
        limits: Rlimits | None = None,
        reader: Reader | None = None,
    ) -> Started:
        """Start a program. Raises `OSError`, `ValueError` and `ToolError`."""
        command = command if limits is None else limits.around(command)
        variables = {**(self.variables if env is None else env), RUNTIME: runtime_directory.name}
        if self._conversation:
            variables[CONVERSATION] = self._conversation
        begin = self._begin if reader is None else partial(self._read, reader)
        return await opened(
            command, cwd=cwd, env=variables, stdin=stdin, stdout=stdout, stderr=stderr, mark=new_mark(), begin=begin
        )

    def console(self) -> LocalConsole:
        """Return a terminal for another bash."""
        from .local import LocalConsole  # needed by shells only

        return LocalConsole(self._masked, self._conversation, self)

    @asynccontextmanager
    async def forward(self, port: int) -> AsyncIterator[int]:
        """Provide the same port."""
        yield port

    @asynccontextmanager
    async def forward_sockets(self, directory: str, names: Sequence[str]) -> AsyncIterator[str]:
        """Provide the same directory."""
        self._talking.add(f"{directory}/")
        try:
            yield directory
        finally:
            self._talking.discard(f"{directory}/")

    @property
    def outside(self) -> Here:
        """This machine without the box, for what a person's own configuration starts."""
        if self._wanted.confine == "off":
            return self
        if self._outside is None:
            self._outside = Here(LocalWorkspace(self._wanted.path, confine="off"), self._setting)
        return self._outside

    def checkpoints(self) -> None:
        """Return None: this machine sees the files."""

    async def facts(self) -> PlaceFacts:
        """Return the facts of this machine."""
        here, wall = facts(), await anyio.to_thread.run_sync(self.wall)
        return here if wall is None else replace(here, home=wall.home, temporary=wall.temporary)

    supports_pause = False

    async def pause(self) -> None:
        """Do nothing."""

    async def resume(self) -> None:
        """Do nothing."""

    async def end_left(self, conversation: str) -> bool:
        """End what a conversation started in a runtime that died; return whether nothing of it is left."""
        return await end_left(conversation)

    async def close(self) -> None:
        """End its box with all that is in it."""
        if self._wall is not None:
            await anyio.to_thread.run_sync(self._wall.close)


class _OfTheRuntime(Here):
    """This machine for the runtime's own programs, such as git for its checkpoints."""

    def _read(self, reader: Reader, command: Sequence[str], **given: Any) -> Begun:
        from .fence import fence_is_missing
        from .holding import whats_missing
        from .readers import read_only

        is_open = whats_missing() and fence_is_missing()
        return unconfined(command, **given) if is_open else read_only(reader, command, **given)


THIS_MACHINE = _OfTheRuntime(LocalWorkspace("/", confine="off"), Setting(lambda function: None))
"""Where the runtime's own programs run: those that work for no conversation, or on its own files."""


def facts() -> PlaceFacts:
    """Return the facts of the system that this process runs on."""
    system = f"{platform.system()} {platform.release()}"
    return PlaceFacts(system, platform.machine(), os.path.expanduser("~"), tempfile.gettempdir())


def _make(path: str) -> bool:
    if os.path.isdir(path):
        return False
    os.makedirs(path)
    return True
