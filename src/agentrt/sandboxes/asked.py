"""What an executor elsewhere is asked for: `AskedFiles`, and processes as `Running`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import wait
from typing import Any, Protocol

import anyio
import msgspec
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.from_thread import check_cancelled

from ..errors import ToolError
from ..placing import Walked

END_SECONDS = 5.0
"""Seconds to wait for the end of a process that was killed."""

ODD = "the program there gave an answer that is none"

LOOK_SECONDS = 0.1
"""Seconds between two looks whether a call that waits for an answer was cancelled."""


class Asked(Protocol):
    """An executor elsewhere."""

    async def ask(self, op: str, **given: Any) -> Any:
        """Return the answer to a request. Raises `ToolError` and `OSError`."""
        ...

    async def file(self, data: bytes | None, **given: Any) -> tuple[Any, bytes]:
        """Return the answer to a request for a file, and the content that came with it.

        Raises `ToolError` and `OSError`.
        """
        ...

    def soon(self, op: str, **given: Any) -> None:
        """Ask for something whose answer does not matter, without waiting."""
        ...


def value_of(answer: dict[str, Any]) -> Any:
    """Return the value of an answer. Raises `ToolError` and `OSError`."""
    if "refused" in answer:
        raise ToolError(str(answer["refused"]))
    if "errno" in answer:
        code, detail = answer["errno"], answer.get("detail")
        words, path = detail if isinstance(detail, list) and len(detail) == 2 else ("", None)
        raise OSError(code if isinstance(code, int) else 0, str(words), None if path is None else str(path))
    if "failed" in answer:
        raise ToolError(f"the program there failed: {str(answer['failed'])[:1000]}")
    return answer.get("value")


class Running:
    """A `Process` elsewhere."""

    def __init__(self, executor: Asked, pid: int, pipes: Sequence[Any]) -> None:
        """`pipes` are its input, output and errors: streams that `close` closes at once, or None."""
        self._executor, self.pid = executor, pid
        self.stdin: ByteSendStream | None
        self.stdout: ByteReceiveStream | None
        self.stderr: ByteReceiveStream | None
        self._pipes = self.stdin, self.stdout, self.stderr = pipes
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
        """Close its pipes, even with unread data in them. One that has ended is forgotten there."""
        for pipe in self._pipes:
            if pipe is not None:
                pipe.close()
        if self.returncode is not None:
            self._executor.soon("release", pid=self.pid)


class AskedFiles:
    """Files elsewhere, as the commands there see them. All methods are for a thread."""

    def __init__(
        self,
        executor: Callable[[], Awaitable[Asked]],
        loop: asyncio.AbstractEventLoop,
        ends: Mapping[str, str] | None = None,
    ) -> None:
        """`executor` starts it if it does not run. With `ends`, files are opened only where a rating has seen that
        their paths lead.
        """
        self._executor, self._loop, self._ends = executor, loop, ends

    def rated(self, ends: Mapping[str, str]) -> AskedFiles:
        """Return the same files for an action that was rated when these paths led to these places."""
        return AskedFiles(self._executor, self._loop, ends)

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

    def walk(self, path: str, most: int, skipped: Collection[str] = ()) -> list[Walked]:
        """Return what is below a directory, at most `most` of it. No link is followed."""
        found: list[Walked] = self._ask("walk", path, list[Walked], most=most, skipped=list(skipped))
        return found

    def modified(self, directory: str, paths: Sequence[str]) -> list[int]:
        """Return when files below a directory were changed last, in nanoseconds; 0 for one that is gone."""
        found: list[int] = self._ask("modified", directory, list[int], paths=list(paths))
        if len(found) != len(paths):
            raise ToolError(ODD)
        return found

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return self._asked("read", path)[1]

    def write(self, path: str, data: bytes) -> None:
        """Write a file, which may be new, completely or not at all."""
        self._ask("write", path, None, data)

    def move(self, path: str, target: str) -> None:
        """Move a file to another path, where nothing is."""
        self._ask("move", path, None, target=target)

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._ask("remove", path, None)

    def _ask(self, act: str, path: str, kind: Any, data: bytes | None = None, **more: Any) -> Any:
        """Return an answer of a kind. Raises `ToolError`."""
        try:
            return msgspec.convert(self._asked(act, path, data, **more)[0], kind)
        except msgspec.ValidationError as error:
            raise ToolError(ODD) from error

    def _asked(self, act: str, path: str, data: bytes | None = None, **more: Any) -> tuple[Any, bytes]:
        async def asked() -> tuple[Any, bytes]:
            executor = await self._executor()
            return await executor.file(
                data, act=act, path=path, ends=None if self._ends is None else dict(self._ends), **more
            )

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
