"""`Executor`: the runtime's end of the executor in a container (`inside`): files and processes there."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from io import FileIO
from subprocess import DEVNULL, PIPE
from typing import Any

import anyio

from ..errors import ToolError
from ..placing import Stream
from .asked import ODD, Running, value_of
from .inside import MOST_CONTENT, content, in_memory, receive, send
from .processes import new_mark
from .starting import Input, Output

ANSWER_SECONDS = 30.0
"""Seconds that the executor may take for an answer."""

AT_ONCE = 64
"""Number of messages that are taken before the event loop goes on, and of ends that are remembered."""


class Executor:
    """A connection to an executor. Its descriptors are passed by the kernel, also between containers."""

    def __init__(self, connection: socket.socket, patience: float = ANSWER_SECONDS) -> None:
        """`patience` is the number of seconds that it may take for an answer."""
        connection.setblocking(False)
        self._patience = patience
        self._connection, self._loop = connection, asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[tuple[dict[str, Any], list[int]]]] = {}
        self._processes: dict[int, Running] = {}
        self._abandoned = set[int]()
        """The requests for processes that nobody waits for any more."""
        self._early: dict[int, int] = {}
        """The exit codes of processes that ended before their number was known here."""
        self.alive = True
        self._loop.add_reader(connection, self._readable)

    async def ask(self, op: str, passed: Sequence[int] = (), **given: Any) -> tuple[Any, list[int]]:
        """Return the value of a request, and the descriptors that came with it, which the caller closes.

        Raises `ToolError` and `OSError`. An executor that does not answer in time is given up.
        """
        number = next(self._numbers)
        answered = self._waiting[number] = self._loop.create_future()
        try:
            with anyio.move_on_after(self._patience):
                await self._send({"id": number, "op": op, **given}, passed)
                answer, back = await answered
                return value_of(answer), back
        except BaseException:
            if op == "run":
                self._abandoned.add(number)  # it may have been started
            if answered.done() and not answered.cancelled():  # the answer came, and nobody takes it
                del self._waiting[number]
                self._take(*answered.result())
            raise
        finally:
            self._waiting.pop(number, None)
        self.close()
        raise ToolError(f"the container did not answer within {self._patience:g} s")

    async def _send(self, message: dict[str, Any], passed: Sequence[int] = ()) -> None:
        while self.alive:
            try:
                return send(self._connection, message, passed)
            except BlockingIOError:
                await anyio.wait_writable(self._connection)
            except OSError as error:
                raise ToolError("the container has ended") from error
        raise ToolError("the container has ended")

    def _readable(self) -> None:
        try:
            for _ in range(AT_ONCE):
                if (found := receive(self._connection)) is None:
                    break
                self._take(*found)
            else:
                return
        except BlockingIOError:
            return
        except (OSError, ValueError, RecursionError):  # a program of the agent's may have taken the executor over
            pass
        self.close()

    def _take(self, message: dict[str, Any], passed: list[int]) -> None:
        if (waiting := self._waiting.get(message["id"])) is not None and not waiting.done():
            waiting.set_result((message, passed))
            return
        for descriptor in passed:
            os.close(descriptor)
        if message["id"] in self._abandoned:
            self._abandoned.discard(message["id"])
            if isinstance(message.get("value"), int):
                self.soon("end", pid=message["value"])
        elif isinstance(ended := message.get("ended"), int) and isinstance(code := message.get("code"), int):
            if (process := self._processes.pop(ended, None)) is not None:
                process.note_end(code)
            elif len(self._early) < AT_ONCE:
                self._early[ended] = code

    async def file(self, data: bytes | None, **given: Any) -> tuple[Any, bytes]:
        """Return the answer to a request for a file, and the content that came with it."""
        passed = [] if data is None else [in_memory(data)]
        try:
            value, back = await self.ask("file", passed, **given)
        finally:
            for descriptor in passed:
                os.close(descriptor)
        try:
            return value, content(back.pop(), MOST_CONTENT) if back or given["act"] == "read" else b""
        except (IndexError, OSError, ValueError) as error:
            raise ToolError(ODD) from error
        finally:
            for descriptor in back:
                os.close(descriptor)

    async def run(
        self,
        command: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        stdin: Stream,
        stdout: Stream,
        stderr: Stream,
    ) -> Running:
        """Start a program there. Raises `OSError`, `ToolError`, and `ValueError` for words that no program can have."""
        if any("\0" in word for word in (*command, cwd, *env, *env.values())):
            raise ValueError("embedded null byte")
        number, ends, streams, passed = 0, list[int | None](), list[int | None](), list[int]()
        with ExitStack() as ours, ExitStack() as theirs:
            for stream, into in ((stdin, True), (stdout, False), (stderr, False)):
                end: int | None = None
                if stream == PIPE:
                    reading, writing = os.pipe()
                    their, end = (reading, writing) if into else (writing, reading)
                    theirs.callback(os.close, their)
                    ours.callback(os.close, end)
                elif stream in (None, DEVNULL):
                    their = None
                else:
                    assert stream is not None
                    their = stream if isinstance(stream, int) else stream.fileno()
                ends.append(end)
                streams.append(None if their is None else len(passed))
                passed += [] if their is None else [their]
            number, back = await self.ask(
                "run", passed, command=list(command), cwd=cwd, env=dict(env), streams=streams, mark=new_mark()
            )
            for descriptor in back:
                os.close(descriptor)
            if not isinstance(number, int):
                raise ToolError(ODD)
            ours.pop_all()
        kinds = ((Input, "wb"), (Output, "rb"), (Output, "rb"))
        pipes = [None if at is None else kind(FileIO(at, mode)) for at, (kind, mode) in zip(ends, kinds, strict=True)]
        process = Running(self, number, pipes)
        if number in self._early:
            process.note_end(self._early.pop(number))
        else:
            self._processes[number] = process
        return process

    def soon(self, op: str, **given: Any) -> None:
        """Ask for something whose answer does not matter, without waiting."""
        if self.alive:
            try:
                send(self._connection, {"id": next(self._numbers), "op": op, **given})
            except OSError:
                return

    def close(self) -> None:
        """Hang up: the executor ends with all that it started. May be called twice."""
        if not self.alive:
            return
        self.alive = False
        self._loop.remove_reader(self._connection)
        self._connection.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ToolError("the container has ended"))
        for process in self._processes.values():
            process.note_end(-signal.SIGKILL)
        self._processes.clear()
