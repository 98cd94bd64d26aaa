"""`opened`: starts a process without copying this one.

uvloop and `os.fork` copy the page tables of this process before the program starts. In a server of 200 MB that blocks
the event loop for 14 ms. `subprocess` uses vfork(2), which takes 0.3 ms whatever the size.

The pipes of a process are read and written here, not by transports of the event loop. uvloop's transport closes its
descriptor, and then the file object that it was given, which closes the same number again: by then another thread may
have opened a socket or a log under it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from subprocess import PIPE, Popen
from typing import IO, Any

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream, Process


async def opened(
    command: Sequence[str],
    *,
    stdin: int | IO[Any] | None = PIPE,
    stdout: int | IO[Any] | None = PIPE,
    stderr: int | IO[Any] | None = PIPE,
    **how: Any,
) -> Started:
    """Start a program, as `anyio.open_process` does. It cannot be cancelled: a program that runs always has its handle.

    `how` is passed to `subprocess.Popen`. Raises `OSError`, and `ValueError` for arguments that no program can have.
    """
    return Started(Popen[bytes](command, bufsize=0, stdin=stdin, stdout=stdout, stderr=stderr, **how))


class Started(Process):
    """A process. Its end does not wait for the end of its pipes, which other processes may hold open."""

    def __init__(self, popen: Popen[bytes]) -> None:
        self._popen = popen
        self._stdin = None if popen.stdin is None else _Input(popen.stdin)
        self._stdout = None if popen.stdout is None else _Output(popen.stdout)
        self._stderr = None if popen.stderr is None else _Output(popen.stderr)
        self._ended = anyio.Event()
        self._loop = asyncio.get_running_loop()
        try:
            self._handle = os.pidfd_open(popen.pid)
        except OSError:  # a kernel without pidfds, or no descriptor is left
            threading.Thread(target=self._await_end, name="process", daemon=True).start()
        else:
            self._loop.add_reader(self._handle, self._note_end)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        return self._popen.poll()

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
        self._popen.terminate()

    def kill(self) -> None:
        self._popen.kill()

    def send_signal(self, signal: int) -> None:
        self._popen.send_signal(signal)

    async def wait(self) -> int:
        """Wait until the process has ended, and return its exit code."""
        await self._ended.wait()
        return self._popen.wait()

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
        self._popen.wait()
        self._ended.set()

    def _await_end(self) -> None:
        self._popen.wait()
        self._loop.call_soon_threadsafe(self._ended.set)


class _Input(ByteSendStream):
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


class _Output(ByteReceiveStream):
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
