"""`Here`: the place of a `LocalWorkspace`, this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from subprocess import PIPE

import anyio.to_thread

from ..errors import ToolError
from ..placing import Setting, Stream
from ..specs import LocalWorkspace
from .local import LocalConsole
from .processes import end_left
from .reached import ReachedFiles
from .starting import Started, opened


class Here:
    """This machine. Its shells get no variable of this process in which `masked` finds a secret."""

    def __init__(self, workspace: LocalWorkspace, setting: Setting) -> None:
        self.workspace, self.files = workspace, ReachedFiles(workspace)
        self.directory = workspace.path
        self._masked, self._conversation = setting.masked, setting.conversation

    async def prepare(self) -> bool:
        """Make the workspace's directory if it is gone, and return whether it was: no process could start without it.

        Raises `ToolError`.
        """
        try:
            return await anyio.to_thread.run_sync(_make, self.directory)
        except OSError as error:
            raise ToolError(f"the workspace {self.directory} is not there: {error.strerror or error}") from error

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stream = PIPE,
        stdout: Stream = PIPE,
        stderr: Stream = PIPE,
    ) -> Started:
        """Start a program. Raises `OSError` and `ValueError`."""
        return await opened(command, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr)

    def console(self) -> LocalConsole:
        """Return a terminal for another bash."""
        return LocalConsole(self._masked, self._conversation)

    async def end_left(self, conversation: str) -> bool:
        """End what a conversation started in a runtime that died; return whether nothing of it is left."""
        return await end_left(conversation)

    async def close(self) -> None:
        """Do nothing: there are no resources."""


def _make(path: str) -> bool:
    if os.path.isdir(path):
        return False
    os.makedirs(path)
    return True
