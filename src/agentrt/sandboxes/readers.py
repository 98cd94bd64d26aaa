"""`confined_reader`: starts a program of our own that only reads, behind a wall of its own, without a network.

It costs a few milliseconds of processor time, and ends by itself: it is in no box.
"""

from __future__ import annotations

import errno
import os
import platform
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from ..placing import Reader
from .entering import entered
from .fence import fenced, paths_of
from .holding import OURSELVES, in_memory, program, way
from .installed import installed
from .mounts import Mount, options_of, reader_mounts
from .spawning import Child, spawned
from .system_filter import filter_program


def confined_reader(
    command: Sequence[str], mounts: Sequence[Mount], *, cwd: str | None, env: Mapping[str, str], **streams: Any
) -> Child:
    """Start a program behind a wall of its own, without a network. For a thread. Raises `OSError` and `ValueError`."""
    name, *words = command
    if os.sep not in name:
        name = installed(name)
    elif not os.path.exists(name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if not way():
        return fenced([name, *words], paths_of(mounts), cwd=cwd or "/", env=env, sockets="none", **streams)
    if way() == OURSELVES:
        return entered([name, *words], cwd=cwd or "/", env=env, door=None, mounts=mounts, network=False, **streams)
    options = [*options_of(mounts, network=False), "--chdir", cwd or "/"]
    for variable, value in env.items():
        options += ("--setenv", variable, value)
    code = filter_program(platform.machine())
    with (
        in_memory(b"\0".join(map(os.fsencode, (*options, "--seccomp", "4"))) + b"\0") as file,
        in_memory(code) as filtering,
    ):
        started = spawned(
            [program("bwrap"), "--args", "3", name, *words],
            cwd="/",
            env={"PATH": os.defpath},
            passed=(file, filtering),
            **streams,
        )
        return _Behind(started.pid, (started.stdin, started.stdout, started.stderr), started)


def read_only(reader: Reader, command: Sequence[str], *, cwd: str | None, **given: Any) -> Child:
    """Start a program for the runtime's own files, which sees the system, its directory and what `reader` names. For a
    thread. Raises `OSError` and `ValueError`.
    """
    if cwd is not None and not os.path.isdir(cwd):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), cwd)
    if cwd is not None and os.geteuid() == 0 and os.stat(cwd).st_uid != 0:
        return spawned(command, cwd=cwd, **given)  # behind the wall, root may not read the files of others
    reads = {*reader.reads, *([cwd] if cwd not in (None, "/") else [])} - {*reader.writes}
    return confined_reader(command, reader_mounts(reads, reader.writes), cwd=cwd, **given)


class _Behind(Child):
    """A program that bwrap(1) waits for: it ends with 128 and the number of the signal that ended the program."""

    def __init__(self, pid: int, pipes: Sequence[Any], started: Child) -> None:
        super().__init__(pid, pipes)
        self._started = started

    def poll(self) -> int | None:
        code = self._started.poll()
        self._code = code if code is None or not _SIGNALS[0] <= code <= _SIGNALS[1] else 128 - code
        return self._code


_SIGNALS = (128 + signal.SIGINT, 128 + 64)
"""Exit codes that are those of signals; git ends with 128 and 129 by itself."""
