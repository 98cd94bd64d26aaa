"""`Executor`: the runtime's end of the executor in a container (`inside`): files and processes there."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack
from io import FileIO
from subprocess import DEVNULL, PIPE
from typing import Any

import anyio
import msgspec
from anyio.from_thread import check_cancelled

from ..errors import ToolError
from ..placing import Stream
from .inside import MOST_CONTENT, content, in_memory, receive, send
from .processes import new_mark
from .starting import Input, Output

ANSWER_SECONDS = 30.0
"""Seconds that the executor may take for an answer."""

END_SECONDS = 5.0
"""Seconds to wait for the end of a process that was killed."""

AT_ONCE = 64
"""Number of messages that are taken before the event loop goes on, and of ends that are remembered."""


def _value(answer: dict[str, Any]) -> Any:
    """Return the value of an answer. Raises `ToolError` and `OSError`."""
    if "refused" in answer:
        raise ToolError(str(answer["refused"]))
    if "errno" in answer:
        code, detail = answer["errno"], answer.get("detail")
        words, path = detail if isinstance(detail, list) and len(detail) == 2 else ("", None)
        raise OSError(code if isinstance(code, int) else 0, str(words), None if path is None else str(path))
    if "failed" in answer:
        raise ToolError(f"the container's executor failed: {str(answer['failed'])[:1000]}")
    return answer.get("value")


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
                return _value(answer), back
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
        process = Running(self, number, ends)
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


class Running:
    """A `Process` in a container."""

    def __init__(self, executor: Executor, pid: int, ends: Sequence[int | None]) -> None:
        self._executor, self.pid = executor, pid
        into, out, errors = ends
        self.stdin = None if into is None else Input(FileIO(into, "wb"))
        self.stdout = None if out is None else Output(FileIO(out, "rb"))
        self.stderr = None if errors is None else Output(FileIO(errors, "rb"))
        self.returncode: int | None = None
        self._ended = anyio.Event()

    def note_end(self, code: int) -> None:
        """Note its exit code."""
        self.returncode = code
        self._ended.set()

    async def wait(self) -> int:
        """Wait until it has ended, and return its exit code."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal; nothing happens if it has ended."""
        if self.returncode is None:
            self._executor.soon("signal", pid=self.pid, number=int(number), group=False)

    def kill_group(self) -> None:
        """Kill it with its process group."""
        if self.returncode is None:
            self._executor.soon("signal", pid=self.pid, number=int(signal.SIGKILL), group=True)

    async def end(self) -> None:
        """End it with all that it has started: by TERM, then by KILL."""
        with contextlib.suppress(ToolError, OSError):  # it ended with the executor
            await self._executor.ask("end", pid=self.pid)
        with anyio.move_on_after(END_SECONDS):
            await self.wait()

    def close_pipes(self) -> None:
        """Close its pipes, even with unread data in them."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()


ODD = "the container gave an answer that is none"

LOOK_SECONDS = 0.1
"""Seconds between two looks whether a call that waits for an answer was cancelled."""


class ContainedFiles:
    """The files of a container, as its commands see them. All methods are for a thread."""

    def __init__(
        self,
        executor: Callable[[], Awaitable[Executor]],
        loop: asyncio.AbstractEventLoop,
        ends: Mapping[str, str] | None = None,
    ) -> None:
        """`executor` starts the container if it does not run. With `ends`, files are opened only where a rating has
        seen that their paths lead.
        """
        self._executor, self._loop, self._ends = executor, loop, ends

    def rated(self, ends: Mapping[str, str]) -> ContainedFiles:
        """Return the same files for an action that was rated when these paths led to these places."""
        return ContainedFiles(self._executor, self._loop, ends)

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of a path, with links followed; None if nothing is there."""
        found = self._ask("status", path, tuple[int, ...] | None)
        if found is None:
            return None
        if len(found) != 10:
            raise ToolError(ODD)
        return os.stat_result(found)

    def real(self, path: str) -> str:
        """Return the path of an existing file or directory without links in it."""
        found: str = self._ask("real", path, str)
        return found

    def names(self, path: str) -> list[tuple[str, bool, bool]]:
        """Return the entries of a directory, sorted by name."""
        found: list[tuple[str, bool, bool]] = self._ask("names", path, list[tuple[str, bool, bool]])
        return found

    def modified(self, directory: str, paths: Sequence[str]) -> list[int]:
        """Return when files below a directory were changed last, in nanoseconds; 0 for one that is gone."""
        found: list[int] = self._ask("modified", directory, list[int], paths=list(paths))
        if len(found) != len(paths):
            raise ToolError(ODD)
        return found

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        _, passed = self._asked("read", path)
        try:
            found = passed.pop()
        except IndexError:
            raise ToolError(ODD) from None
        finally:
            for descriptor in passed:
                os.close(descriptor)
        try:
            return content(found, MOST_CONTENT)
        except (OSError, ValueError) as error:
            raise ToolError(ODD) from error

    def write(self, path: str, data: bytes) -> None:
        """Write a file, which may be new, completely or not at all."""
        given = in_memory(data)
        try:
            self._ask("write", path, None, [given])
        finally:
            os.close(given)

    def move(self, path: str, target: str) -> None:
        """Move a file to another path, where nothing is."""
        self._ask("move", path, None, target=target)

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._ask("remove", path, None)

    def _ask(self, act: str, path: str, kind: Any, passed: Sequence[int] = (), **more: Any) -> Any:
        """Return an answer of a kind. Raises `ToolError`."""
        value, back = self._asked(act, path, passed, **more)
        for descriptor in back:
            os.close(descriptor)
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise ToolError(ODD) from error

    def _asked(self, act: str, path: str, passed: Sequence[int] = (), **more: Any) -> tuple[Any, list[int]]:
        async def asked() -> tuple[Any, list[int]]:
            executor = await self._executor()
            ends = None if self._ends is None else dict(self._ends)
            return await executor.ask("file", passed, act=act, path=path, ends=ends, **more)

        # not by anyio.from_thread.run: what it runs spins if the scope was cancelled before it began
        answer = asyncio.run_coroutine_threadsafe(asked(), self._loop)
        while True:
            done, _ = wait((answer,), LOOK_SECONDS)
            if done:
                return answer.result()
            try:
                check_cancelled()
            except BaseException:
                answer.cancel()
                raise
