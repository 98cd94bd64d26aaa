"""Running one command: bytes in, an exit code and bytes out. If it is cut, nothing of it is left running."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import anyio
import anyio.abc

from ..placing import Masked, Place
from ..sandboxes.environment import environment
from .replies import KEPT, Ended


async def run_command(
    place: Place,
    command: str,
    given: bytes,
    directory: str,
    variables: Mapping[str, str],
    seconds: float,
    masked: Masked = str,
) -> Ended | None:
    """Run a command in /bin/sh in a place with `given` as its standard input.

    Return None if it, or a process that holds its output open, has not ended after `seconds`. Then, and if this is
    cancelled, everything that it started is ended: TERM, then KILL. Its environment is the terminal's, without anything
    that is or looks like a secret, and `variables`. Raise `OSError` or `ValueError` if it cannot be started.
    """
    variables = {**environment(place.variables, masked), **variables}
    stdout, stderr = bytearray(), bytearray()
    with contextlib.ExitStack() as files, anyio.CancelScope(shield=True) as scope:
        out, theirs = _pipe(files)
        err, their_errors = _pipe(files)
        with _file(given) as readable, theirs, their_errors:
            process = await place.run(
                ["/bin/sh", "-c", command],
                cwd=directory,
                env=variables,
                stdin=readable,
                stdout=theirs,
                stderr=their_errors,
            )
        code: int | None = None
        try:
            scope.shield = False  # not earlier, or it may run without anybody having its handle
            with anyio.move_on_after(seconds):
                async with anyio.create_task_group() as group:
                    group.start_soon(_read, out, stdout)
                    group.start_soon(_read, err, stderr)
                    await process.wait()
                code = process.returncode
        finally:
            if code is None:
                scope.shield = True
                await process.end()
        if code is not None:
            return Ended(code if code >= 0 else 128 - code, bytes(stdout), bytes(stderr))
    return None


@contextlib.contextmanager
def _file(data: bytes) -> Iterator[BinaryIO]:
    """Yield a file in memory. Unlike a pipe, it makes nobody wait if the command does not read it."""
    with open(os.memfd_create("hook"), "w+b") as file:
        file.write(data)
        file.seek(0)
        yield file


def _pipe(files: contextlib.ExitStack) -> tuple[int, BinaryIO]:
    """Return the end to read from, which `files` closes, and the end to write to."""
    reading, writing = os.pipe()
    files.callback(os.close, reading)
    return reading, open(writing, "wb", buffering=0)


async def _read(pipe: int, kept: bytearray) -> None:
    while True:
        await anyio.wait_readable(pipe)
        piece = os.read(pipe, 65536)
        if not piece:
            return
        kept += piece[: KEPT - len(kept)]
