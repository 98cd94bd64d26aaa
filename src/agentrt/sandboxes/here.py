"""`Here`: the place of a `LocalWorkspace`, this machine."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ..errors import ToolError
from ..placing import PIPE, AsyncFiles, PlaceFacts, Python, Rlimits, Setting, Stream
from ..scratch import RUNTIME, runtime_directory
from ..specs import LocalWorkspace
from .processes import CONVERSATION, end_left, new_mark
from .starting import Started, opened

if TYPE_CHECKING:
    from .local import LocalConsole


class Here:
    """This machine. Its shells get no variable of this process in which `masked` finds a secret."""

    def __init__(self, workspace: LocalWorkspace, setting: Setting) -> None:
        self.workspace = workspace
        self._masked, self._conversation = setting.masked, setting.conversation
        self._files: AsyncFiles | None = None

    @property
    def files(self) -> AsyncFiles:
        """All files of this machine."""
        if self._files is None:
            from .reached import ReachedFiles

            self._files = AsyncFiles(ReachedFiles(self.workspace))
        return self._files

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of this process."""
        return os.environ

    async def python(self) -> Python:
        """Return the Python of this process."""
        return Python(sys.executable, str(Path(__file__).parent.parent))

    @asynccontextmanager
    async def shared(self, name: str) -> AsyncIterator[tuple[str, str]]:
        """Provide the path of a socket in a directory for temporary files."""
        async with runtime_directory.temporary("shared-") as made:
            yield (path := f"{made}/{name}"), path

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
    ) -> Started:
        """Start a program. Raises `OSError` and `ValueError`."""
        command = command if limits is None else limits.around(command)
        variables = {**(os.environ if env is None else env), RUNTIME: runtime_directory.name}
        if self._conversation:
            variables[CONVERSATION] = self._conversation
        return await opened(command, cwd=cwd, env=variables, stdin=stdin, stdout=stdout, stderr=stderr, mark=new_mark())

    def console(self) -> LocalConsole:
        """Return a terminal for another bash."""
        from .local import LocalConsole  # needed by shells only

        return LocalConsole(self._masked, self._conversation)

    @asynccontextmanager
    async def forward(self, port: int) -> AsyncIterator[int]:
        """Provide the same port."""
        yield port

    @asynccontextmanager
    async def forward_sockets(self, directory: str, names: Sequence[str]) -> AsyncIterator[str]:
        """Provide the same directory."""
        yield directory

    def checkpoints(self) -> None:
        """Return None: this machine sees the files."""

    async def facts(self) -> PlaceFacts:
        """Return the facts of this machine."""
        return facts()

    supports_pause = False

    async def pause(self) -> None:
        """Do nothing."""

    async def resume(self) -> None:
        """Do nothing."""

    async def end_left(self, conversation: str) -> bool:
        """End what a conversation started in a runtime that died; return whether nothing of it is left."""
        return await end_left(conversation)

    async def close(self) -> None:
        """Do nothing: there are no resources."""


THIS_MACHINE = Here(LocalWorkspace("/"), Setting(lambda function: None))
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
