"""`InContainer`: the place of a `DockerWorkspace`; and `ContainedConsole`, a bash there on a terminal of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ..errors import ToolError
from ..placing import PIPE, AsyncFiles, PlaceFacts, Python, Rlimits, Setting, Stream
from ..specs import DockerWorkspace
from .asked import ODD, AskedFiles, Running
from .console import COLUMNS, PATIENCE, ROWS, Heard, fill, store
from .container import Container
from .environment import QUIET
from .kit import PACKAGE, PYTHON
from .lending import Loan, PipeLoan
from .processes import CONVERSATION
from .relays import relayed_port, relayed_sockets

if TYPE_CHECKING:
    from aiodocker.execs import Exec
    from aiodocker.stream import Stream as DockerStream

_ON_TERMINAL = (
    f'stty -echo -echonl -onlcr rows {ROWS} cols {COLUMNS}; exec bash --noprofile --noediting --rcfile "$0" -i'
)


class InContainer:
    """A container. It starts with its first process; software installed in it stays for later ones."""

    def __init__(self, workspace: DockerWorkspace, setting: Setting) -> None:
        self.workspace = workspace
        self._container = Container(workspace, setting.start_soon)
        self._conversation = setting.conversation
        self.files = AsyncFiles(AskedFiles(self._container.executor, asyncio.get_running_loop()))

    @property
    def variables(self) -> Mapping[str, str]:
        """No variables: those of the image hold."""
        return {}

    async def python(self) -> Python:
        """Return this program's own Python, which the container has mounted. Raises `ToolError`."""
        await self._container.start()
        return Python(PYTHON, PACKAGE)

    @asynccontextmanager
    async def shared(self, name: str) -> AsyncIterator[tuple[str, str]]:
        """Provide a socket's path in a directory that the container can read, and not write. Raises `ToolError`."""
        await self._container.start()
        made = await anyio.to_thread.run_sync(lambda: tempfile.mkdtemp(dir=self._container.scratch))
        try:
            yield (path := f"{made}/{name}"), path
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(shutil.rmtree, made, True)

    async def prepare(self) -> bool:
        """Return False: its workspace is mounted, and the first process starts the container."""
        return False

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
        executor = await self._container.executor()
        variables = {**(env or {}), **({CONVERSATION: self._conversation} if self._conversation else {})}
        return await executor.run(command, os.fspath(cwd or self.workspace.path), variables, stdin, stdout, stderr)

    def console(self) -> ContainedConsole:
        """Return a terminal for another bash."""
        return ContainedConsole(self._container)

    def forward(self, port: int) -> AbstractAsyncContextManager[int]:
        """Provide a port of this machine that leads to one in the container, which needs no network."""
        return relayed_port(partial(self._connected, port=port))

    def forward_sockets(self, directory: str, names: Sequence[str]) -> AbstractAsyncContextManager[str]:
        """Provide a private directory whose sockets lead to those in a directory of the container."""
        return relayed_sockets({name: partial(self._connected, path=f"{directory}/{name}") for name in names})

    async def _connected(self, **address: Any) -> socket.socket:
        """Return a connection to a port or a socket in the container. Raises `OSError` and `ToolError`."""
        _, passed = await (await self._container.executor()).ask("connect", (), **address)
        return _socket(passed)

    @property
    def outside(self) -> InContainer:
        """This place: all that it runs is in it."""
        return self

    async def unheld(self) -> str:
        """Return "": what runs there is not on this machine."""
        return ""

    def checkpoints(self) -> None:
        """Return None: the workspace is a directory of this machine, too."""

    async def facts(self) -> PlaceFacts:
        """Return the facts of the container."""
        found, _ = await (await self._container.executor()).ask("facts")
        if not isinstance(found, list) or len(found) != 4:
            raise ToolError(ODD)
        return PlaceFacts(*map(str, found))

    supports_pause = True

    async def pause(self) -> None:
        """Stop all that runs in the container, if it has been started."""
        await self._container.pause()

    async def resume(self) -> None:
        """Let all that runs in the container go on."""
        await self._container.resume()

    async def end_left(self, conversation: str) -> bool:
        """Return True: a container ends with the runtime that started it."""
        return True

    async def close(self) -> None:
        """End the container."""
        await self._container.close()


def _socket(passed: Sequence[int]) -> socket.socket:
    """Return the only descriptor as a socket. Raises `OSError` if it is not one for a stream of bytes."""
    if len(passed) == 1 and stat.S_ISSOCK(os.fstat(passed[0]).st_mode):
        found = socket.socket(fileno=passed[0])
        if found.type == socket.SOCK_STREAM:
            return found
        found.close()
        raise OSError(ODD)
    for descriptor in passed:
        os.close(descriptor)
    raise OSError(ODD)


class ContainedConsole:
    """A `Console` in a container, which several may share. The warden finds and ends what bash started."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._scratch: Path | None = None
        self._files: Mapping[str, str] = {}
        self._token = ""
        self._bash: Exec | None = None
        self._stream: DockerStream | None = None
        self._alive = False
        self._heard: Heard = lambda data: None

    @property
    def scratch(self) -> Path:
        """A directory for the files that bash reads."""
        assert self._scratch is not None
        return self._scratch

    async def prepare(self, files: Mapping[str, str]) -> None:
        """Start the container if it is not running, and make `scratch` with these files. Raises `ToolError` if it
        cannot start.
        """
        await self._container.start()
        await anyio.to_thread.run_sync(self._make_scratch, files)

    async def store(self, name: str, text: str) -> None:
        """Write a file into `scratch`."""
        await store(self.scratch, name, text, self._files)

    def _make_scratch(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._scratch = Path(tempfile.mkdtemp(prefix="shell-", dir=self._container.scratch))
        fill(self._scratch, files)

    async def start(self, token: str, directory: str, start: PurePath, heard: Heard) -> None:
        """Start bash. Raises `ToolError`."""
        self._token, self._heard = token, heard
        bash = await self._container.execute(
            ["bash", "--noprofile", "-c", _ON_TERMINAL, str(start)],
            directory,
            {**QUIET, "AGENTRT_SHELL": token},
        )
        stream = bash.start()
        await stream.__aenter__()
        self._bash, self._stream = bash, stream
        self._alive = True
        self._container.listen(stream, self._hear)

    @property
    def alive(self) -> bool:
        """Whether bash still runs."""
        return self._alive

    async def begin(self) -> None:
        """Remember what runs. Raises `ToolError` if the container has ended."""
        await self._container.order("note", self._token)

    async def send(self, data: bytes) -> int:
        """Type; return how many bytes were taken within `PATIENCE`: all or none.

        Raises `OSError` if the terminal is gone.
        """
        if self._stream is None or not self._alive:
            raise OSError("it has ended")
        try:
            with anyio.move_on_after(PATIENCE):
                await self._stream.write_in(data)
                return len(data)
        except (RuntimeError, AssertionError) as error:  # from aiodocker, for a closed connection
            raise OSError("it has ended") from error
        return 0

    def forget_input(self) -> None:
        """Do nothing: the terminal drops what was typed when it reads C-c (termios(3), NOFLSH)."""

    def take_back(self) -> Collection[str]:
        """Return no variables: a container has none of this process."""
        return ()

    def lend(self, variables: Mapping[str, str]) -> Loan:
        """Return a loan of variables to the next command. Raises `ToolError` if a pipe cannot hold them."""
        return PipeLoan(variables, self.scratch)

    async def busy(self) -> bool:
        """Return whether bash has a process below it."""
        return await self.processes(1) > 0

    async def at_prompt(self) -> bool:
        """Return whether bash has no process below it."""
        return not await self.busy()

    async def replaced(self) -> bool:
        """Return False: this cannot be seen from here."""
        return False

    async def processes(self, most: int) -> int:
        """Return the number of processes below bash, at most `most`; 0 if the warden does not answer."""
        try:
            return min(int(await self._container.order("count", self._token)), most)
        except ToolError:
            return 0

    async def end(self, call: str) -> tuple[str, ...]:
        """End what began since `begin`, or has `call` as its `AGENTRT_CALL`. Return the signals that were needed."""
        try:
            return tuple((await self._container.order("end", self._token, call)).split())
        except ToolError:  # all that ran has ended with the container
            return ()

    async def settle(self) -> None:
        """Clear the set-user-ID bits of files that the command left in the workspace."""
        await self._container.clear_set_ids()

    async def exit_code(self) -> int:
        """Return the exit code of bash; 1 if the engine does not know it."""
        assert self._bash is not None
        with anyio.move_on_after(PATIENCE), contextlib.suppress(Exception):
            code = (await self._bash.inspect())["ExitCode"]
            return code if isinstance(code, int) else 1
        return 1

    async def close(self) -> None:
        """End bash and all that it started; the container keeps running."""
        if self._stream is not None:
            stream, self._stream = self._stream, None
            with contextlib.suppress(ToolError):
                await self._container.order("clear", self._token)
            with contextlib.suppress(AssertionError):  # aiodocker's, when the engine hung up first
                await stream.close()
        if self._scratch is not None:
            await anyio.to_thread.run_sync(shutil.rmtree, self._scratch, True)

    def _hear(self, data: bytes) -> None:
        self._alive = bool(data)
        self._heard(data)
