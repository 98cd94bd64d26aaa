"""`OpenedWorkspace`: the place of a workspace that is held without a conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import anyio.to_thread

from ..errors import ConfigurationError
from ..ids import new_id
from ..placing import Place, Setting
from ..sandboxes.kinds import place_type
from ..specs import WorkspaceSpec
from ..workspaces.asking import Files, PlaceEnd
from ..workspaces.commands import Commands, LocalPlaceEnd
from ..workspaces.given import looked_up
from ..workspaces.local import LocalFiles


class OpenedWorkspace:
    """A workspace whose place is open between `enter` and `close`."""

    def __init__(self, spec: WorkspaceSpec) -> None:
        self.spec = spec
        self._place: Place | None = None
        self._commands: Commands | None = None
        self._stack = AsyncExitStack()

    async def enter(self) -> None:
        """Open the place; the first command or file starts what it needs.

        Raises `WorkspaceMissing`, and `ConfigurationError` if nothing can run there.
        """
        if self._place is not None:
            raise ConfigurationError("this workspace is open already: use one 'async with'")
        self.spec = await anyio.to_thread.run_sync(looked_up, self.spec)
        kind = place_type(self.spec)
        await kind.check(self.spec)
        async with AsyncExitStack() as stack:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            mark = new_id()
            place = kind.open(self.spec, Setting(tasks.start_soon, conversation=mark))
            stack.push_async_callback(_closed, place)
            commands = Commands(place, tasks.start_soon, mark)
            stack.push_async_callback(_closed, commands)
            self._place, self._commands, self._stack = place, commands, stack.pop_all()

    async def close(self) -> None:
        """End all that runs there."""
        self._place = self._commands = None
        await self._stack.aclose()

    @property
    def live(self) -> Place:
        """The open place. Raises `ConfigurationError`."""
        if self._place is None:
            raise ConfigurationError("a workspace must be entered first: use 'async with'")
        return self._place

    async def working_dir(self) -> str:
        """Return its path."""
        return self.spec.path

    async def files(self) -> Files:
        """Return its files. Raises `ConfigurationError` if it is not open, or this machine does not have them."""
        if not self.live.workspace.seen_here:
            raise ConfigurationError("this machine does not have the files of this kind of workspace: use commands")
        return LocalFiles(self.spec.directory)

    def place(self, by: str | None = None) -> PlaceEnd:
        """Return its place. Raises `ConfigurationError` if it is not open."""
        _ = self.live

        @asynccontextmanager
        async def using() -> AsyncIterator[Commands]:
            if self._commands is None:
                _ = self.live
            assert self._commands is not None
            yield self._commands

        return LocalPlaceEnd(using, by)


async def _closed(one: Place | Commands) -> None:
    with anyio.CancelScope(shield=True):
        await one.close()
