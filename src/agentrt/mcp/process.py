"""`ServerProcess`: a server that runs as a process, as a transport for the library `mcp`: one JSON-RPC message a line.

The library's own transport (`mcp.client.stdio`) copies all that it has read for each chunk of a line, without a limit:
a line of 100 MB costs minutes and gigabytes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.to_thread

from ..errors import ToolError
from ..placing import Place, Process

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

LONGEST_LINE = 64 << 20
"""Maximum bytes of one message."""

SHORT = 256 << 10
"""A message of this many bytes or more is parsed in a thread, not on the event loop."""

KEPT_WORDS = 4096
"""Bytes of a server's standard error that are kept for error messages."""

GRACE = 2.0
"""Seconds that a server has to exit after its input is closed."""

_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""Environment variables of this process that every server gets."""


class ServerProcess:
    """A server's process, which runs while `streams` is open. `ended` is set once its output or input is closed."""

    def __init__(self, place: Place, command: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self._place, self._command, self._cwd = place, list(command), cwd
        kept = {name: place.variables[name] for name in _INHERITED if name in place.variables}
        self._env = {**kept, **env}
        self._words = b""
        self.ended = anyio.Event()
        self.pid = 0

    @property
    def words(self) -> str:
        """The end of its standard error."""
        return self._words.decode("utf-8", "replace").strip()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        """Run the process, and provide the streams for the library. Raises `OSError` if the command cannot be run."""
        here = self._place.workspace.on_this_machine
        if here and not await anyio.to_thread.run_sync(os.path.isdir, self._cwd):
            raise NotADirectoryError(errno.ENOTDIR, "no directory", self._cwd)
        try:
            process = await self._place.run(self._command, cwd=self._cwd, env=self._env)
        except ToolError as error:  # the place cannot start
            raise OSError(str(error)) from error
        self.pid = process.pid
        heard, read = anyio.create_memory_object_stream[Any](0)
        write, said = anyio.create_memory_object_stream[Any](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, process, heard)
            tasks.start_soon(self._speak, process, said, heard)
            tasks.start_soon(self._note, process)
            try:
                yield read, write
            finally:
                with anyio.CancelScope(shield=True):
                    await self._end(process)
                tasks.cancel_scope.cancel()
                for stream in (heard, read, write, said):
                    stream.close()

    async def _listen(self, process: Process, heard: Any) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        assert process.stdout is not None
        try:
            async with heard:
                async for line in _lines(process.stdout):
                    try:
                        read = partial(jsonrpc_message_adapter.validate_json, line, by_name=False)
                        message = read() if len(line) < SHORT else await anyio.to_thread.run_sync(read)
                        await heard.send(SessionMessage(message))
                    except ValueError as error:
                        await heard.send(error)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            return
        finally:
            self.ended.set()

    async def _speak(self, process: Process, said: Any, heard: Any) -> None:
        assert process.stdin is not None
        try:
            async with said:
                async for message in said:
                    line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(f"{line}\n".encode())
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            heard.close()
        finally:
            self.ended.set()

    async def _note(self, process: Process) -> None:
        assert process.stderr is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for piece in process.stderr:
                self._words = (self._words + piece)[-KEPT_WORDS:]

    async def _end(self, process: Process) -> None:
        """Close its input, wait a moment, then end it and all processes that it has started."""
        assert process.stdin is not None
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
        await _exited(process, GRACE)
        await process.end()
        process.close_pipes()


async def _exited(process: Process, seconds: float) -> bool:
    """Return whether a process ends within so many seconds."""
    with anyio.move_on_after(seconds):
        await process.wait()
    return process.returncode is not None


async def _lines(stream: anyio.abc.ByteReceiveStream) -> AsyncIterator[bytes]:
    """Yield the lines of a stream. Raises `ConnectionError` if one is too long."""
    pieces: list[bytes] = []
    size = 0
    async for chunk in stream:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            pieces.append(line)
            if joined := b"".join(pieces).strip():
                yield joined
            pieces, size = [], 0
        if rest:
            pieces.append(rest)
            size += len(rest)
            if size > LONGEST_LINE:
                raise ConnectionError(f"a message is longer than {LONGEST_LINE >> 20} MiB")
