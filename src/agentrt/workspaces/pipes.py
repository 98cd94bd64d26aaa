"""`Pipes`: handles pipes in a workspace that have the names of git's own files. Git would wait for a writer to them."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import anyio.to_thread

READ_BY_GIT = frozenset({".gitattributes", ".gitignore"})

FIRST_SECONDS = 0.5
"""How long git may run before the first search for pipes that it may wait for."""

SECONDS = 0.05
"""The interval of checks whether git waits for a known pipe."""

_LOOKS = 20
"""Number of these checks before the next search for pipes, which is made only if none is known."""


class Pipes:
    """The pipes of one workspace."""

    def __init__(self) -> None:
        self._known: list[str] = []

    @asynccontextmanager
    async def passed(self, directory: str) -> AsyncIterator[None]:
        """Keep git, which the body runs in a directory, from waiting for pipes there: it finds each pipe empty."""
        failed: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass, directory)
            try:
                yield
            except Exception as error:  # raised below, and not in a group
                failed = error
            tasks.cancel_scope.cancel()
        if failed is not None:
            raise failed

    async def _pass(self, directory: str) -> None:
        if not self._known:
            await anyio.sleep(FIRST_SECONDS)
        while True:
            self._known = self._known or await anyio.to_thread.run_sync(_below, directory, abandon_on_cancel=True)
            for _ in range(_LOOKS):
                self._known = [path for path in self._known if _ended(path)]
                await anyio.sleep(SECONDS)


def _below(directory: str) -> list[str]:
    """Return the pipes with such names below a directory. For a thread."""
    found = ((place, name) for place, _, files in os.walk(directory) for name in READ_BY_GIT.intersection(files))
    return [path for place, name in found if _is_pipe(path := os.path.join(place, name))]


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.lstat(path).st_mode)
    except OSError:
        return False


def _ended(path: str) -> bool:
    """Let a process that waits for a pipe, if any, read the end of it; return whether it is still a pipe."""
    if not _is_pipe(path):
        return False
    with suppress(OSError):  # nobody waits: ENXIO, fifo(7)
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC))
    return True
