"""`RemoteOpened`: a workspace that is held open on a server, without a conversation."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress

import anyio
import msgspec
from msgspec.structs import replace

from ..errors import AgentrtError, ConfigurationError
from ..specs import RemoteWorkspace
from ..workspaces.asking import Files, PlaceEnd
from .files import RemoteFiles
from .place import RemotePlace
from .transport import Transport

_CLOSE_SECONDS = 10.0


class _Opened(msgspec.Struct):
    id: str
    path: str


class RemoteOpened:
    """A workspace that is open on a server between `enter` and `close`."""

    def __init__(self, spec: RemoteWorkspace) -> None:
        self.spec = spec
        self._transport: Transport | None = None
        self._name = ""
        self._stack = AsyncExitStack()

    async def enter(self) -> None:
        """Open it there. Raises the server's errors, or `ServerUnreachable`."""
        if self._transport is not None:
            raise ConfigurationError("this workspace is open already: use one 'async with'")
        async with AsyncExitStack() as stack:
            transport = await stack.enter_async_context(Transport(self.spec))
            body = msgspec.json.encode({"path": self.spec.path})
            answer = await transport.ask("POST", "/workspaces", body, name="", repeatable=False)
            opened = msgspec.json.decode(answer, type=_Opened)
            self.spec, self._name, self._transport = replace(self.spec, path=opened.path), opened.id, transport
            self._stack = stack.pop_all()

    async def close(self) -> None:
        """End all that runs there, as far as the server can be reached: it does so itself after some time."""
        transport, self._transport = self._transport, None
        if transport is not None:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSE_SECONDS), suppress(AgentrtError):
                await transport.ask("DELETE", self._base, name=self._name, wait=0.0)
        await self._stack.aclose()

    async def working_dir(self) -> str:
        """Return its path on the server. Raises `ConfigurationError` if it is not open."""
        _ = self._open
        assert self.spec.path is not None
        return self.spec.path

    async def files(self) -> Files:
        """Return its files. Raises `ConfigurationError` if it is not open."""
        return RemoteFiles(self._open, self._name, self._base)

    def place(self, by: str | None = None) -> PlaceEnd:
        """Return its place. Raises `ConfigurationError` if it is not open."""
        return RemotePlace(self._open, self._name, self._base)

    @property
    def live(self) -> None:
        """None: this process has no place of it. Raises `ConfigurationError` if it is not open."""
        _ = self._open

    @property
    def _base(self) -> str:
        return f"/workspaces/{self._name}"

    @property
    def _open(self) -> Transport:
        if self._transport is None:
            raise ConfigurationError("a workspace must be entered first: use 'async with'")
        return self._transport
