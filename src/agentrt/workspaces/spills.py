"""`Spills`: files with the results that the model sees only in part, where the agent's tools can read them.

For a local workspace they are in a temporary directory. Commands in a container see only the workspace, so there they
are in its `.agentrt/results`. Git is told to ignore this directory, and no link can lead it out of the workspace.
"""

from __future__ import annotations

import re
import secrets
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import anyio
import anyio.to_thread

from ..errors import ToolError
from ..placing import Place

if TYPE_CHECKING:
    from ..sandboxes.here import Here

MOST = 20
"""Maximum number of files of one tool; the oldest are removed first."""

_IGNORE = b"*\n"
"""The `.gitignore` (gitignore(5)) of a directory that ignores itself."""

_NO_NAME = re.compile(r"[^\w-]", re.ASCII)


class Spills:
    """The files of one tool, while it is open."""

    def __init__(self, place: Place, tool: str) -> None:
        self._place = place
        self._name = f"{_NO_NAME.sub('_', tool)[:64]}-{secrets.token_hex(4)}"
        self._directory = ""
        self._written = deque[str]()
        self._count = 0

    async def keep(self, text: str) -> str | None:
        """Write a text and return the file's path; None if it cannot be written."""
        try:
            return await anyio.to_thread.run_sync(self._keep, text.encode("utf-8", "replace"))
        except (ToolError, OSError):
            return None

    async def close(self) -> None:
        """Remove the files."""
        if self._directory or self._written:
            with suppress(OSError):
                await anyio.to_thread.run_sync(self._remove)

    def _keep(self, data: bytes) -> str:
        if not self._directory:
            self._directory = self._made()
        self._count += 1
        path = f"{self._directory}/{self._name}-{self._count}.txt"
        self._place.files.blocking.write(path, data)
        self._written.append(path)
        while len(self._written) > MOST:
            self._forget(self._written.popleft())
        return path

    def _made(self) -> str:
        if self._place.workspace.on_this_machine:
            return cast("Here", self._place).directory("results-", writable=True)
        ours = f"{self._place.workspace.path}/.agentrt"
        if self._place.files.blocking.status(f"{ours}/.gitignore") is None:
            self._place.files.blocking.write(f"{ours}/.gitignore", _IGNORE)
        return f"{ours}/results"

    def _remove(self) -> None:
        while self._written:
            self._forget(self._written.popleft())
        if self._directory and self._place.workspace.on_this_machine:
            cast("Here", self._place).remove(self._directory)
            self._directory = ""

    def _forget(self, path: str) -> None:
        with suppress(ToolError):  # it is gone, or was moved
            self._place.files.blocking.remove(path)
