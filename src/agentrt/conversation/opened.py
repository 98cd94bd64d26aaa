"""`OpenedWorkspace`: the place of a workspace that is held without a conversation."""

from __future__ import annotations

from contextlib import AsyncExitStack, nullcontext

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
from ..workspaces.there import FilesThere


class OpenedWorkspace:
    """A workspace whose place is open between `enter` and `close`."""

    def __init__(self, spec: WorkspaceSpec) -> None:
        self.spec = spec
        self._commands: Commands | None = None
        self._stack = AsyncExitStack()

    async def enter(self) -> None:
        """Open the place; the first command or file starts what it needs.

        Raises `WorkspaceMissing`, and `ConfigurationError` if nothing can run there.
        """
        if self._commands is not None:
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
            self._commands, self._stack = commands, stack.pop_all()

    async def close(self) -> None:
        """End all that runs there."""
        self._commands = None
        await self._stack.aclose()

    @property
    def live(self) -> Place:
        """The open place. Raises `ConfigurationError`."""
        return self._open.place

    async def working_dir(self) -> str:
        """Return its path."""
        return self.spec.path

    async def files(self) -> Files:
        """Return its files. Raises `ConfigurationError` if it is not open."""
        place = self.live
        return LocalFiles(self.spec.directory) if self.spec.seen_here else FilesThere(place)

    def place(self, by: str | None = None) -> PlaceEnd:
        """Return its place. Using it raises `ConfigurationError` if it is not open."""
        return LocalPlaceEnd(lambda: nullcontext(self._open), by)

    @property
    def _open(self) -> Commands:
        if self._commands is None:
            raise ConfigurationError("a workspace must be entered first: use 'async with'")
        return self._commands


async def _closed(one: Place | Commands) -> None:
    with anyio.CancelScope(shield=True):
        await one.close()
