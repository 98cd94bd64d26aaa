"""Running a program to its end for what it prints, such as git: bounded in time and bytes, ended when it is cut."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from subprocess import DEVNULL, PIPE
from typing import IO

import anyio
import anyio.abc
import msgspec
from anyio.abc import TaskGroup

from .starting import opened

ERRORS = 8192
"""Bytes that are kept of what it says on its standard error."""

PLAIN = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
"""All that such a program needs to have in its environment, but for the `PATH` of this process."""


class Printed(msgspec.Struct, frozen=True):
    """What a program has printed, and its exit code; `cut` where it was ended since it had printed enough."""

    output: bytes
    errors: bytes
    code: int
    cut: bool = False


class Stuck(TimeoutError):
    """Raised when whoever watches a program has seen that it will not go on."""


async def printed(
    command: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    seconds: float,
    most: int,
    given: bytes = b"",
    watched: Callable[[int], Awaitable[None]] | None = None,
) -> Printed:
    """Run a program that reads `given`, until it ends, or has printed more than `most` bytes, of which the first count.

    It has nothing of the environment of this process but its `PATH`. Raises `OSError` when it cannot be started,
    `TimeoutError` when it takes longer than `seconds`, and `Stuck` when `watched`, which has the id of its process,
    returns. When this is cancelled its process group is killed.
    """
    variables = {**PLAIN, "PATH": os.environ.get("PATH", os.defpath), **environment}
    with _readable(given) as stdin:
        process = await opened(
            command, cwd=cwd, env=variables, stdin=stdin, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    output, errors, cut, stuck, watching = bytearray(), bytearray(), False, False, anyio.CancelScope()

    async def watch(tasks: TaskGroup) -> None:
        nonlocal stuck
        with watching:
            assert watched is not None
            await watched(process.pid)
            stuck = True
            tasks.cancel_scope.cancel()

    try:
        with anyio.fail_after(seconds):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_take, process.stderr, errors, ERRORS, True)
                if watched is not None:
                    tasks.start_soon(watch, tasks)
                cut = await _take(process.stdout, output, most, False)
                watching.cancel()
                if cut:
                    tasks.cancel_scope.cancel()
            if stuck:
                raise Stuck(f"{command[0]} does not go on")
            if not cut:
                await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            await process.aclose()
    return Printed(bytes(output), bytes(errors), process.returncode or 0, cut)


async def _take(stream: anyio.abc.ByteReceiveStream | None, kept: bytearray, most: int, on: bool) -> bool:
    """Keep what a stream brings; whether it brought more. Past that it is read `on`, or left."""
    assert stream is not None
    more = False
    async for part in stream:
        more = more or len(kept) + len(part) > most
        kept += part[: most - len(kept)]
        if more and not on:
            break
    return more


@contextlib.contextmanager
def _readable(data: bytes) -> Iterator[IO[bytes] | int]:
    """Bytes to read: in memory, so that a program that does not read them keeps nobody waiting."""
    if not data:
        yield DEVNULL
        return
    with open(os.memfd_create("given"), "w+b") as file:
        file.write(data)
        file.seek(0)
        yield file
