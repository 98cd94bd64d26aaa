"""`Kernel`: a Python kernel in a process of its own, reached over sockets in a private directory."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.abc
import anyio.to_thread
import msgspec

from ...errors import ToolError
from ...loading import load_extra
from ...placing import DEVNULL, PIPE, Place, Process, Python
from ...sandboxes.environment import environment

if TYPE_CHECKING:
    from jupyter_client.asynchronous.client import AsyncKernelClient

    from ...sandboxes.here import Here

START_SECONDS = 60.0
"""Seconds that a kernel has to start."""

REPLY_SECONDS = 2.0
"""Seconds to wait for the end of a cell's output after its reply (a flood may lose the last message), or vice versa."""

READY_SECONDS = 1.0
"""Seconds to wait for a starting kernel to answer before it is asked again."""

INTERRUPT_SECONDS = 0.5
"""Seconds between the first two attempts to interrupt a cell. The wait doubles each time."""

_PARENT = "JPY_PARENT_PID"
"""Environment variable with the id of the process that the kernel must not outlive; it checks each second."""

Heard = Callable[[str, Mapping[str, Any]], object]
Asked = Callable[[str, bool], Awaitable[str | None]]
"""Returns what a person types, given the prompt and whether it is a password; None if nobody answers."""


class KernelDied(ToolError):
    """Raised when a kernel has ended in the middle of a cell."""

    def __init__(self, how: str) -> None:
        super().__init__(f"the kernel has ended ({how}): its variables are gone")


class Kernel:
    """A running kernel."""

    def __init__(self, client: AsyncKernelClient, process: Process, held: AsyncExitStack) -> None:
        self._client, self._process, self._held = client, process, held
        self.count = 0
        """Number of cells that were run, as the kernel counts them."""

    @classmethod
    async def started(
        cls,
        place: Place,
        python: Python,
        workspace: str,
        masked: Callable[[str], str],
        client_of: Callable[[], AsyncKernelClient] | None = None,
    ) -> Kernel:
        """Start a kernel in a place and wait until it is ready. Raises `ToolError` that says what is missing.

        It starts in its own directory, where it imports nothing that a workspace has. Its first code, which is ours,
        takes it to the workspace. `client_of` makes the client that speaks with it; None: that of jupyter_client.
        """
        library = await load_extra("jupyter_client.asynchronous.client", "jupyter")
        async with AsyncExitStack() as opening:
            directory = await opening.enter_async_context(_directory(place))
            near = await opening.enter_async_context(place.forward_sockets(directory, _SOCKETS))
            key = secrets.token_hex(32)
            file = f"{directory}/connection.json"
            connection = msgspec.json.encode(_connection(directory, key))
            await place.files.write(file, connection)
            base = await anyio.to_thread.run_sync(outside, place.variables, workspace)
            given = environment(base, masked)
            if place.workspace.on_this_machine and await anyio.to_thread.run_sync(cast("Here", place).wall) is None:
                given[_PARENT] = str(os.getpid())
            elif python.package:  # the place's own variables are for another Python
                given |= {"PYTHONPATH": "", "PYTHONHOME": ""}
            process = await place.run(
                [python.path, "-m", "ipykernel_launcher", "-f", file, "--HistoryManager.enabled=False"],
                cwd=directory,
                env={
                    **given,
                    "MPLBACKEND": _BACKEND,
                    "IPYTHONDIR": f"{directory}/ipython",
                    "JUPYTER_PLATFORM_DIRS": "1",
                    "PWD": directory,
                },
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=PIPE,
            )
            client: AsyncKernelClient = (client_of or library.AsyncKernelClient)()
            client.load_connection_info(_connection(near, key))
            client.start_channels(hb=False)
            kernel = cls(client, process, opening.pop_all())
        try:
            await kernel._ready()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await kernel.end()
            raise
        return kernel

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process.returncode is None

    async def _interrupt(self) -> None:
        """Raise `KeyboardInterrupt` in the kernel repeatedly until cancelled: between two cells it has no effect."""
        wait = INTERRUPT_SECONDS
        while True:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)
            await anyio.sleep(wait)
            wait *= 2

    async def run(self, code: str, heard: Heard, asked: Asked | None = None, *, quiet: bool = False) -> bool:
        """Run a cell to its end, and return whether it succeeded. Raises `KernelDied`.

        `heard` gets its output, as kind and content. After cancelling this, call `settle` to interrupt the cell.
        """
        sent = self._client.execute(code, silent=quiet, store_history=not quiet, allow_stdin=True)
        good, replied, ends = False, anyio.Event(), {sent}

        async def reply() -> None:
            nonlocal good
            while (message := await self._client.get_shell_msg())["parent_header"].get("msg_id") not in ends:
                pass
            good = len(ends) == 1 and message["content"].get("status") == "ok"
            self.count = message["content"].get("execution_count") or self.count
            replied.set()
            await anyio.sleep(REPLY_SECONDS)
            tasks.cancel_scope.cancel()

        async def answer() -> None:
            while True:
                message = await self._client.get_stdin_msg()
                if message["parent_header"].get("msg_id") != sent:  # of a cell that was interrupted
                    continue
                content = message["content"]
                prompt, password = str(content.get("prompt", "")), bool(content.get("password"))
                given = await asked(prompt, password) if asked is not None else None
                if given is not None:
                    self._client.input(given)
                else:  # an interrupt may cut the reply, too: the reply to a later request then ends the wait
                    ends.add(self._client.kernel_info())
                    await self._interrupt()

        async def watch() -> None:
            await self._process.wait()
            raise KernelDied(_how(self._process.returncode))

        try:
            async with anyio.create_task_group() as tasks:
                for function in (reply, answer, watch):
                    tasks.start_soon(function)
                await self._listen(sent, heard)
                with anyio.move_on_after(REPLY_SECONDS):  # an interrupt may have cut the reply
                    await replied.wait()
                tasks.cancel_scope.cancel()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return good

    async def _listen(self, sent: str, heard: Heard) -> None:
        """Pass a cell's output to `heard` until the kernel is idle."""
        while True:
            message = await self._client.get_iopub_msg()
            if message["parent_header"].get("msg_id") != sent:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content.get("execution_state") == "idle":
                return
            heard(kind, content)

    async def settle(self, seconds: float) -> bool:
        """Interrupt what the kernel runs, and return whether it was idle within so many seconds."""
        with anyio.move_on_after(seconds), suppress(KernelDied):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._interrupt)
                await self.run("", ignored, quiet=True)
                tasks.cancel_scope.cancel()
            return True
        return False

    async def _ready(self) -> None:
        """Wait until the kernel answers on its three channels: shell, IOPub and stdin. Raises `ToolError`."""
        with anyio.move_on_after(START_SECONDS):
            while self.alive:
                if await self._answers() and await self._asks():
                    return
        said = b""
        if not self.alive and self._process.stderr is not None:
            with suppress(anyio.EndOfStream):
                said = await self._process.stderr.receive(65_536)
        words = said.decode("utf-8", "replace").strip().rpartition("\n")[2] or "it does not answer"
        hint = ": it needs pip install ipykernel" if "ipykernel" in words else ""
        raise ToolError(f"the kernel does not start: {words}{hint}")

    async def _answers(self) -> bool:
        """Return whether the kernel answers on shell and IOPub in time."""
        sent = self._client.kernel_info()
        with anyio.move_on_after(READY_SECONDS):
            await self._client.get_shell_msg()
            await self._listen(sent, ignored)
            return True
        return False

    async def _asks(self) -> bool:
        """Return whether a request for input arrives in time. A kernel drops one without a word while the stdin channel
        is not connected yet, which may be after the others are, and the cell then waits without end.
        """

        async def nothing(prompt: str, password: bool) -> str:
            return ""

        with anyio.move_on_after(READY_SECONDS), suppress(KernelDied):
            return await self.run("input()", ignored, nothing, quiet=True)
        await self.settle(REPLY_SECONDS)
        return False

    async def end(self) -> None:
        """End the kernel with all that it has started."""
        self._client.stop_channels()
        await self._process.end()
        self._process.close_pipes()
        self._client.context.destroy(linger=0)
        await self._held.aclose()


_PORTS = ("shell", "iopub", "stdin", "control", "hb")
_SOCKETS = tuple(f"kernel-{number}" for number, _ in enumerate(_PORTS, 1))
"""The names of a kernel's sockets, as jupyter_client forms them."""


def _connection(directory: str, key: str) -> Any:
    """Return what the two ends of a connection know: the kernel's sockets are in a directory."""
    ports = {f"{port}_port": number for number, port in enumerate(_PORTS, 1)}
    address = {"transport": "ipc", "ip": f"{directory}/kernel"}
    return {**ports, **address, "key": key, "signature_scheme": "hmac-sha256"}


@asynccontextmanager
async def _directory(place: Place) -> AsyncIterator[str]:
    """Provide a directory of the place for the files of a kernel."""
    if place.workspace.on_this_machine:
        here = cast("Here", place)
        made = await anyio.to_thread.run_sync(partial(here.directory, "kernel-", writable=True))
        try:
            yield made
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(here.remove, made)
        return
    directory = f"{(await place.facts()).temporary}/agentrt-kernel-{secrets.token_hex(8)}"
    try:
        yield directory  # the first file makes it
    finally:
        with anyio.CancelScope(shield=True), suppress(OSError, ToolError):  # it is gone with the place
            removing = await place.run(["rm", "-rf", directory], cwd="/", stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
            await removing.wait()


def outside(variables: Mapping[str, str], workspace: str) -> dict[str, str]:
    """Return an environment without what has Python import from the workspace, or run it, as it starts.

    For a thread.
    """
    found = dict(variables)
    if (startup := found.get("PYTHONSTARTUP")) and not _is_outside(startup, workspace):
        del found["PYTHONSTARTUP"]
    if (paths := found.pop("PYTHONPATH", None)) and (
        kept := [path for path in paths.split(os.pathsep) if _is_outside(path, workspace)]
    ):
        found["PYTHONPATH"] = os.pathsep.join(kept)
    return found


def _is_outside(path: str, workspace: str) -> bool:
    """Return whether a path is absolute, and neither it nor the place where it leads is in the workspace."""
    above = {os.path.normpath(workspace), os.path.realpath(workspace)}
    places = (os.path.normpath(path), os.path.realpath(path))
    return os.path.isabs(path) and not any(f"{place}/".startswith(f"{one}/") for place in places for one in above)


_BACKEND = "module://matplotlib_inline.backend_inline"


def ignored(kind: str, content: Mapping[str, Any]) -> None:
    """Ignore the output of an internal cell."""


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
