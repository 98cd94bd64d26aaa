"""`opened`: starts a process in a thread, without copying this one and without holding up the event loop.

The pipes of a process are read and written here, not by transports of the event loop. uvloop's transport closes its
descriptor, and then the file object that it was given, which closes the same number again: by then another thread may
have opened a socket or a log under it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache, partial
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, Any, Protocol, cast

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from .processes import KILL_AFTER, end
from .spawning import can_spawn, spawned

PATIENCE = 2.0
"""Seconds to wait for a process after KILL."""


async def opened(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[Any] | None = PIPE,
    stdout: int | IO[Any] | None = PIPE,
    stderr: int | IO[Any] | None = PIPE,
    mark: str = "",
    begin: Begin,
) -> Started:
    """Start a program in a session of its own. A scope cannot cancel this: a program that runs always has its handle.

    `begin` starts it, in a thread: `unconfined`, or what starts programs behind a wall.
    `mark`, a variable with its value, is in its environment, so that all that it starts is found.

    Its streams are descriptors or files, `PIPE`, `DEVNULL`, or those of this process (None). Raises `OSError`,
    `ValueError` for words that no program can have, and what `begin` raises.
    """
    place, variables = None if cwd is None else os.fspath(cwd), dict(os.environ if env is None else env)
    if mark:
        name, _, value = mark.partition("=")
        variables[name] = value
    since = time.clock_gettime(time.CLOCK_BOOTTIME)
    if can_spawn():
        sys.audit("subprocess.Popen", command[0], list(command), place, variables)
    with ExitStack() as copies:
        streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        given = {name: _copied(stream, copies) for name, stream in streams.items()}
        start = _Start(partial(begin, command, cwd=place, env=variables, **given), copies.pop_all())
    begun: Begun | None = None
    try:
        with anyio.CancelScope(shield=True):
            begun = await asyncio.wrap_future(_threads().submit(start))
    except BaseException:
        start.give_up()
        raise
    assert begun is not None
    return Started(begun, mark, since)


Begin = Callable[..., "Begun"]
"""Starts a process, given as for `spawned`."""


def unconfined(command: Sequence[str], **given: Any) -> Begun:
    """Start a program that may do what this process may do. For a thread."""
    if can_spawn():
        return spawned(command, **given)
    return cast("Begun", Popen[bytes](command, bufsize=0, start_new_session=True, **given))


@cache
def _threads() -> ThreadPoolExecutor:
    """The threads that start processes. They do not end: a process may ask to be killed as the thread ends that started
    it (PR_SET_PDEATHSIG).
    """
    return ThreadPoolExecutor(4, "starting")


def _copied(given: int | IO[Any] | None, copies: ExitStack) -> int | None:
    """Return a copy of a descriptor for the thread, since the caller may close its own if it is cancelled."""
    if given is None or given in (PIPE, DEVNULL):
        return given
    copy = fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, 3)
    copies.callback(os.close, copy)
    return copy


class Begun(Protocol):
    """A process that was started; as `subprocess.Popen`."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...

    def send_signal(self, sig: int, /) -> None: ...


class _Start:
    """The start of a process in a thread. If it is no longer open, it is killed."""

    def __init__(self, begin: Callable[[], Begun], copies: ExitStack) -> None:
        """`copies` are closed once it has begun, or will not."""
        self._begin, self._copies = begin, copies
        self._begun: Begun | None = None
        self._begins = self._given_up = False
        self._lock = threading.Lock()

    def __call__(self) -> Begun | None:
        with self._lock:
            if self._given_up:
                return None
            self._begins = True
        with self._copies:
            begun = self._begin()
        with self._lock:
            self._begun = begun
            if not self._given_up:
                return begun
        _end(begun)
        return None

    def give_up(self) -> None:
        """Kill the process now, or once it runs."""
        with self._lock:
            self._given_up = True
            if not self._begins:
                self._copies.close()
            if self._begun is not None:
                _threads().submit(_end, self._begun)


def _end(begun: Begun) -> None:
    """Kill a process, and what it has started in its session, and wait for it. For a thread."""
    for pipe in (begun.stdin, begun.stdout, begun.stderr):
        if pipe is not None:
            pipe.close()
    if begun.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()


class Started(Process):
    """A process. Its end does not wait for the end of its pipes, which other processes may hold open."""

    def __init__(self, begun: Begun, mark: str = "", since: float = 0.0) -> None:
        """`mark` is in the environment of all that it starts; it began after `since`, in seconds of CLOCK_BOOTTIME."""
        self._begun, self._mark, self._since = begun, mark, since
        self._stdin = None if begun.stdin is None else Input(begun.stdin)
        self._stdout = None if begun.stdout is None else Output(begun.stdout)
        self._stderr = None if begun.stderr is None else Output(begun.stderr)
        self._ended = anyio.Event()
        self._loop = asyncio.get_running_loop()
        try:
            self._handle = os.pidfd_open(begun.pid)
        except OSError:  # a kernel without pidfds, or no descriptor is left
            threading.Thread(target=self._await_end, name="process", daemon=True).start()
        else:
            self._loop.add_reader(self._handle, self._note_end)

    @property
    def pid(self) -> int:
        return self._begun.pid

    @property
    def returncode(self) -> int | None:
        return self._begun.poll()

    @property
    def stdin(self) -> ByteSendStream | None:
        return self._stdin

    @property
    def stdout(self) -> ByteReceiveStream | None:
        return self._stdout

    @property
    def stderr(self) -> ByteReceiveStream | None:
        return self._stderr

    def terminate(self) -> None:
        self._begun.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._begun.send_signal(signal.SIGKILL)

    def send_signal(self, signal: int) -> None:
        self._begun.send_signal(signal)

    def kill_group(self) -> None:
        """Kill it with its process group at once, as far as it belongs to this user."""
        if self.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    async def end(self) -> None:
        """End it with all that it has started. Stop it first, or it goes on with its next line meanwhile."""
        if self.returncode is None:
            self._signalled(signal.SIGSTOP)
            await end(self.pid, self._mark, self._since)
            for number, seconds in ((signal.SIGTERM, KILL_AFTER), (signal.SIGKILL, PATIENCE)):
                self._signalled(number, signal.SIGCONT)
                with anyio.move_on_after(seconds):
                    await self.wait()
                    break
        await end(self.pid, self._mark, self._since)

    def _signalled(self, *numbers: int) -> None:
        for number in numbers:
            with suppress(ProcessLookupError):
                self._begun.send_signal(number)

    async def wait(self) -> int:
        """Wait until the process has ended, and return its exit code."""
        await self._ended.wait()
        return self._begun.wait()

    async def aclose(self) -> None:
        """Close the pipes, and wait until the process has ended; cancelling kills it."""
        self.close_pipes()
        try:
            await self.wait()
        except BaseException:
            self.kill()
            with anyio.CancelScope(shield=True):
                await self.wait()
            raise

    def close_pipes(self) -> None:
        """Close the pipes, even with unread data in them."""
        for pipe in (self._stdin, self._stdout, self._stderr):
            if pipe is not None:
                pipe.close()

    def _note_end(self) -> None:
        self._loop.remove_reader(self._handle)
        os.close(self._handle)
        self._begun.wait()
        self._ended.set()

    def _await_end(self) -> None:
        try:
            self._begun.wait()
        finally:
            self._loop.call_soon_threadsafe(self._ended.set)


class Input(ByteSendStream):
    """A pipe to write to. Once `send` has begun, all its bytes are written, even if it is cancelled."""

    def __init__(self, pipe: IO[bytes]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe, self._loop = pipe, asyncio.get_running_loop()
        self._rest = bytearray()
        """The bytes that the pipe did not take yet; while there are any, the loop calls `_flush`."""
        self._flushed = anyio.Event()
        self._broken = self._closed = False

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise anyio.ClosedResourceError
        if not self._rest:
            item = item[self._write(item) :]
            if item:
                self._flushed = anyio.Event()
                self._loop.add_writer(self._pipe, self._flush)
        self._rest += item
        if self._rest:
            await self._flushed.wait()
        if self._broken:
            raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        self.close()
        await anyio.lowlevel.checkpoint()

    def close(self) -> None:
        """Close the pipe, once it has taken what was sent."""
        self._closed = True
        if not self._rest:
            self._pipe.close()

    def _write(self, data: bytes | bytearray) -> int:
        """Return how many bytes were taken: all, if nobody reads them any more."""
        try:
            return self._pipe.write(data) or 0  # None: the pipe is full
        except OSError:
            self._broken = True
            return len(data)

    def _flush(self) -> None:
        del self._rest[: self._write(self._rest)]
        if not self._rest:
            self._loop.remove_writer(self._pipe)
            self._flushed.set()
            if self._closed:
                self._pipe.close()


class Output(ByteReceiveStream):
    """A pipe to read from."""

    def __init__(self, pipe: IO[bytes]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe

    async def receive(self, max_bytes: int = 65536) -> bytes:
        data: bytes | None = None
        while data is None:
            if self._pipe.closed:
                raise anyio.ClosedResourceError
            await anyio.wait_readable(self._pipe)
            if self._pipe.closed:  # it became readable, and was closed before this task went on
                raise anyio.ClosedResourceError
            data = self._pipe.read(max_bytes)  # None: there is nothing to read after all
        if data:
            return data
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        self.close()
        await anyio.lowlevel.checkpoint()

    def close(self) -> None:
        if not self._pipe.closed:
            anyio.notify_closing(self._pipe)  # whoever waits for it is told
            self._pipe.close()
