"""Running a program to its end for what it prints, such as git: bounded in time and bytes, ended when it is cut."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from subprocess import DEVNULL, PIPE
from typing import IO

import anyio
import anyio.abc
import msgspec

from .processes import opened

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


async def printed(
    command: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    seconds: float,
    most: int,
    given: bytes = b"",
) -> Printed:
    """Run a program that reads `given`, until it ends, or has printed more than `most` bytes, of which the first count.

    It has nothing of the environment of this process but its `PATH`. Raises `OSError` when it cannot be started, and
    `TimeoutError` when it takes longer than `seconds`. When this is cancelled its process group is killed.
    """
    variables = {**PLAIN, "PATH": os.environ.get("PATH", os.defpath), **environment}
    with _readable(given) as stdin:
        process = await opened(
            command, cwd=cwd, env=variables, stdin=stdin, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    output, errors, cut = bytearray(), bytearray(), False
    try:
        with anyio.fail_after(seconds):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_take, process.stderr, errors, ERRORS, True)
                cut = await _take(process.stdout, output, most, False)
                if cut:
                    tasks.cancel_scope.cancel()
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
