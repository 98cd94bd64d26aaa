"""`printed`: runs a program such as git for its output, bounded in time and bytes. Cancelling kills the program."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import IO, Any

import anyio
import anyio.abc
import msgspec
from anyio.abc import TaskGroup

from ..placing import DEVNULL, PIPE, Place, Reader, Rlimits
from .installed import installed, search_path

ERRORS = 8192
"""Bytes that are kept of a program's standard error."""

PLAIN = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
"""The environment of such a program; this process's `PATH` without workspaces replaces the one here."""


class Printed(msgspec.Struct, frozen=True):
    """The output and the exit code of a program. `cut` is true if it was killed because it had printed too much."""

    output: bytes
    errors: bytes
    code: int
    cut: bool = False


class Stuck(TimeoutError):
    """Raised if the watcher of a program finds that it makes no progress."""


async def printed(
    place: Place,
    command: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str] | None = None,
    seconds: float,
    most: int,
    given: bytes = b"",
    watched: Callable[[int], Awaitable[None]] | None = None,
    limits: Rlimits | None = None,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
) -> Printed:
    """Run a program with `given` as its input, until it ends or prints more than `most` bytes; only those are kept.

    A name without a directory is that of an installed program. It gets no variable of this process but `PATH`,
    without the directories of workspaces, and elsewhere those of the place. Raises `OSError` if it cannot be
    started, `TimeoutError` if it takes longer than `seconds`, and `Stuck` if `watched` returns, which is called
    with the process id. Cancelling kills its process group.

    On this machine it is behind a wall: it has no network, and sees the system, `cwd`, `reads`, and `writes`, where it
    may write; in the place of a conversation, what is in that place instead of `reads`.
    """
    name, *arguments = command
    variables, how = dict(environment or {}), dict[str, Any](limits=limits)
    if place.workspace.on_this_machine:
        command = [name if os.sep in name else installed(name), *arguments]
        variables = {**PLAIN, "PATH": search_path(), **variables}
        how["reader"] = Reader(tuple(reads), tuple(writes))
    with _readable(given) as stdin:
        process = await place.run(command, cwd=cwd, env=variables, stdin=stdin, stdout=PIPE, stderr=PIPE, **how)
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
            process.kill_group()
            process.close_pipes()
            await process.wait()
    return Printed(bytes(output), bytes(errors), process.returncode or 0, cut)


async def _take(stream: anyio.abc.ByteReceiveStream | None, kept: bytearray, most: int, on: bool) -> bool:
    """Read a stream into `kept`, up to `most` bytes; return whether there was more. The rest is read only with `on`."""
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
    """Give bytes as a file in memory, so that nothing waits for a program that does not read them."""
    if not data:
        yield DEVNULL
        return
    with open(os.memfd_create("given"), "w+b") as file:
        file.write(data)
        file.seek(0)
        yield file
