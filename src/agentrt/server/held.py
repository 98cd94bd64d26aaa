"""`HeldWorkspaces`: the workspaces that clients hold open without a conversation."""

from __future__ import annotations

import logging
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup, TaskStatus

from ..conversation import Workspace
from ..errors import WorkspaceError
from ..ids import new_id
from .principals import Principal
from .settings import ServerSettings
from .workspaces import new_workspace, spec_at

_log = logging.getLogger(__name__)

MOST = 100
"""Maximum number of workspaces that are held at once."""

IDLE = 1800.0
"""Seconds without a request or a running command after which a workspace is closed."""

_LOOK = 60.0


@dataclass
class _Held:
    workspace: Workspace
    owner: str | None
    used: float = field(default_factory=time.monotonic)
    ends: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)


class HeldWorkspaces:
    """An async context manager; leaving it closes all workspaces."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._held: dict[str, _Held] = {}
        self._first: dict[str | None, str] = {}
        self._firsts = anyio.Lock()
        self._stack = AsyncExitStack()
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            tasks = self._tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(self._close_idle)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            left = list(self._held.values())
            for held in left:
                held.ends.set()
            for held in left:
                await held.ended.wait()
        finally:
            await self._stack.aclose()

    async def open(self, path: str | None, principal: Principal) -> str:
        """Open a directory below the server's workspaces, by default a new one, and return the id of what is held.

        Raises `ConfigurationError`, `WorkspaceMissing`, and `WorkspaceError` if too many are open.
        """
        assert self._tasks is not None
        if len(self._held) >= MOST:
            raise WorkspaceError("busy", f"{MOST} workspaces are held open: close one first")
        name = new_id()
        async with new_workspace(self._settings.workspaces, path, name) as directory:
            held = _Held(Workspace(spec_at(directory, self._settings)), principal.owner)
            failed = await self._tasks.start(partial(self._hold, name, held))
            if failed is not None:
                raise failed
        return name

    async def _hold(self, name: str, held: _Held, *, task_status: TaskStatus[Exception | None]) -> None:
        opened = False
        try:
            async with held.workspace:
                self._held[name], opened = held, True
                task_status.started(None)
                await held.ends.wait()
                del self._held[name]  # nobody is to meet one that is closing
        except Exception as error:
            if opened:
                _log.exception("a workspace was not closed as it should be")
            else:  # the one who asked gets it
                task_status.started(error)
        finally:
            self._held.pop(name, None)
            held.ended.set()

    async def first(self, principal: Principal) -> Workspace:
        """Return the first of the server's directories, which is opened once for each owner.

        Raises `ConfigurationError` and `WorkspaceError`.
        """
        async with self._firsts:
            name = self._first.get(principal.owner, "")
            if name not in self._held:
                name = self._first[principal.owner] = await self.open(".", principal)
        return self.get(name, principal)

    def get(self, name: str, principal: Principal) -> Workspace:
        """Return a workspace that is held. Raises `WorkspaceError` if it is not, or belongs to somebody else."""
        held = self._held.get(name)
        if held is None or not principal.sees(held.owner):
            raise WorkspaceError("not-open", f"{name!r} is not held open: open it again")
        held.used = time.monotonic()
        return held.workspace

    def seen(self, principal: Principal) -> dict[str, Workspace]:
        """Return the workspaces that a principal sees, by their ids."""
        return {name: held.workspace for name, held in self._held.items() if principal.sees(held.owner)}

    async def close(self, name: str, principal: Principal) -> None:
        """Close a workspace, and end all that runs in it. Raises `WorkspaceError`."""
        self.get(name, principal)
        await self._end(name)

    async def _end(self, name: str) -> None:
        if (held := self._held.get(name)) is not None:
            held.ends.set()
            await held.ended.wait()

    async def _close_idle(self) -> None:
        while True:
            await anyio.sleep(_LOOK)
            for name, held in list(self._held.items()):
                if held.ends.is_set():
                    continue
                running = any(command.result is None for command in await held.workspace.commands())
                if not running and time.monotonic() - held.used > IDLE:
                    await self._end(name)
