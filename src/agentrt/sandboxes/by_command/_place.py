"""`CommandPlace`: the base of places that a command reaches, such as `ssh`."""

from __future__ import annotations

import asyncio
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Generic, TypeVar

import anyio
import anyio.lowlevel

from ...errors import ToolError
from ...placing import PIPE, AsyncFiles, PlaceFacts, Python, Rlimits, Setting, Stream
from ...scratch import runtime_directory
from ...specs.workspace import WorkspaceSpec
from ..asked import AskedFiles, Running
from ..mirror import PlaceMirror
from ..processes import CONVERSATION
from ..relays import relayed_port, relayed_sockets
from ._console import LinkedConsole
from ._link import BOOT, Link, linked

W = TypeVar("W", bound=WorkspaceSpec)


class CommandPlace(ABC, Generic[W]):
    """A place that a command reaches: a kind says which.

    The command runs for as long as the place is open, and what runs there ends with it; one that has ended is begun
    again by the next use. The place needs Linux, `bash` and Python 3.9 with its standard library. Searches, documents
    and code need a Python there that has this package; without it they say so.
    """

    def __init__(self, workspace: W, setting: Setting) -> None:
        self.workspace = workspace
        self._setting = setting
        self._marks = {CONVERSATION: setting.conversation} if setting.conversation else {}
        self._link: Link | None = None
        self._begins, self._closed = anyio.Lock(), False
        self.files = AsyncFiles(AskedFiles(self._linked, asyncio.get_running_loop()))

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call the place."""

    @property
    def interpreter(self) -> str:
        """The Python there."""
        return "python3"

    @abstractmethod
    def command(self, program: Sequence[str]) -> Sequence[str]:
        """Return the command of this machine that runs a program there, with its input and output.

        It is asked for each new connection, in the event loop, and may raise `ToolError`. A name without a directory is
        that of an installed program. The command gets the variables of this process that are no secrets; one that does
        not leave this machine or this user passes them on, unless it clears them.
        """

    async def _linked(self) -> Link:
        """Return the link; the first call begins it, and so does one after it has ended. Raises `ToolError`."""
        async with self._begins:
            if self._closed:
                raise ToolError("the workspace was closed")
            if self._link is None or not self._link.alive:
                if self._link is not None:
                    await self._link.close()
                words = self.command([self.interpreter, "-I", "-c", BOOT, self.workspace.path])
                self._link = await linked(words, self.name, self._setting.start_soon)
            return self._link

    @property
    def variables(self) -> Mapping[str, str]:
        """No variables: those of the far end hold."""
        return {}

    async def python(self) -> Python:
        """Return the Python there, if it has this package. Raises `ToolError`."""
        link = await self._linked()
        if not link.package:
            raise ToolError(f"this needs agentrt on {self.name}: install it for the Python there, {link.python}")
        return Python(link.python, link.package)

    @asynccontextmanager
    async def shared(self, name: str) -> AsyncIterator[tuple[str, str]]:
        """Provide the path of a socket of this machine, and of one there that leads to it. Raises `ToolError`."""
        async with runtime_directory.temporary("shared-") as near:
            async with (await self._linked()).listening(f"{near}/{name}") as there:
                yield f"{near}/{name}", there

    async def prepare(self) -> bool:
        """Make the workspace's directory if it is gone, and return whether it was. Raises `ToolError`."""
        made, _ = await (await self._linked()).file(None, act="make", path=self.workspace.path, ends=None)
        return made is True

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
    ) -> Running:
        """Start a program. Raises `OSError`, `ValueError` and `ToolError`."""
        command = command if limits is None else limits.around(command)
        directory, variables = os.fspath(cwd or self.workspace.path), {**(env or {}), **self._marks}
        return await (await self._linked()).run(command, directory, variables, (stdin, stdout, stderr))

    def console(self) -> LinkedConsole:
        """Return a terminal for another bash."""
        return LinkedConsole(self._linked, self._setting.start_soon, self._marks)

    def forward(self, port: int) -> AbstractAsyncContextManager[int]:
        """Provide a port of this machine that leads to one there."""
        return relayed_port(partial(self._connected, port=port))

    def forward_sockets(self, directory: str, names: Sequence[str]) -> AbstractAsyncContextManager[str]:
        """Provide a private directory whose sockets lead to those in a directory there."""
        return relayed_sockets({name: partial(self._connected, path=f"{directory}/{name}") for name in names})

    async def _connected(self, **address: Any) -> socket.socket:
        return await (await self._linked()).connect(**address)

    @property
    def outside(self) -> CommandPlace[W]:
        """This place: all that it runs is in it."""
        return self

    async def unheld(self) -> str:
        """Return "": what runs there is not on this machine."""
        return ""

    def checkpoints(self) -> PlaceMirror:
        """Return what mirrors the workspace, so that its files can be kept."""
        return PlaceMirror(self)

    async def facts(self) -> PlaceFacts:
        """Return the facts of the place."""
        return (await self._linked()).facts

    supports_pause = False

    async def pause(self) -> None:
        """Do nothing."""
        await anyio.lowlevel.checkpoint()

    async def resume(self) -> None:
        """Do nothing."""
        await anyio.lowlevel.checkpoint()

    async def end_left(self, conversation: str) -> bool:
        """Return True: what runs there ends with the link."""
        return True

    async def close(self) -> None:
        """End the link, and all that runs there."""
        self._closed = True
        async with self._begins:  # one that begins is closed, too
            if self._link is not None:
                await self._link.close()
                self._link = None
