"""`opened`: starts a process without copying this one.

uvloop and `os.fork` copy the page tables of this process before the program starts. In a server of 200 MB that blocks
the event loop for 14 ms. `subprocess` uses vfork(2), which takes 0.3 ms whatever the size.
"""

from __future__ import annotations

import asyncio
import os
import threading
from asyncio.streams import FlowControlMixin
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
    """Start a program, as `anyio.open_process` does. A cancellation waits until its pipes are connected.

    Otherwise the program might run without anyone having its handle. `how` is passed to `subprocess.Popen`. Raises
    `OSError`, and `ValueError` for arguments that no program can have.
    """
    popen = Popen[bytes](command, bufsize=0, stdin=stdin, stdout=stdout, stderr=stderr, **how)
    with anyio.CancelScope(shield=True):
        try:
            return await Started.of(popen)
        except BaseException:
            popen.kill()
            popen.wait()
            raise
    raise AssertionError("a shield lets nothing through")


class Started(Process):
    """A process. Its end does not wait for the end of its pipes, which other processes may hold open."""

    def __init__(self, popen: Popen[bytes], stdin: _Input | None, stdout: _Output | None, stderr: _Output | None):
        self._popen, self._stdin, self._stdout, self._stderr = popen, stdin, stdout, stderr
        self._ended = anyio.Event()
        self._loop = asyncio.get_running_loop()
        try:
            self._handle = os.pidfd_open(popen.pid)
        except OSError:  # a kernel without pidfds
            threading.Thread(target=self._await_end, name="process", daemon=True).start()
        else:
            self._loop.add_reader(self._handle, self._note_end)

    @classmethod
    async def of(cls, popen: Popen[bytes]) -> Started:
        """Return the handle of a process that was just started."""
        return cls(
            popen,
            None if popen.stdin is None else await _Input.of(popen.stdin),
            None if popen.stdout is None else await _Output.of(popen.stdout),
            None if popen.stderr is None else await _Output.of(popen.stderr),
        )

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

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer, self._closed = writer, False

    @classmethod
    async def of(cls, pipe: IO[bytes]) -> _Input:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(lambda: FlowControlMixin(loop), pipe)
        return cls(asyncio.StreamWriter(transport, protocol, None, loop))

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise anyio.ClosedResourceError
        try:
            self._writer.write(item)
            await self._writer.drain()
        except (ConnectionError, RuntimeError) as error:  # RuntimeError: from uvloop
            raise (anyio.ClosedResourceError if self._closed else anyio.BrokenResourceError) from error

    async def aclose(self) -> None:
        self.close()
        await anyio.lowlevel.checkpoint()

    def close(self) -> None:
        self._closed = True
        self._writer.close()


class _Output(ByteReceiveStream):
    """A pipe to read from."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport) -> None:
        self._reader, self._transport = reader, transport

    @classmethod
    async def of(cls, pipe: IO[bytes]) -> _Output:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), pipe)
        return cls(reader, transport)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        if data := await self._reader.read(max_bytes):
            return data
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        self.close()
        await anyio.lowlevel.checkpoint()

    def close(self) -> None:
        self._reader.set_exception(anyio.ClosedResourceError())
        self._transport.close()
