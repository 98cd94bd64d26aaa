"""`entered`: starts a program by the zygote, inside a box or as this process's user does.

The zygote (`zygote.py`) is started with the first such program and ends with this process. A start by it costs no start
of an interpreter, and copies a small process instead of this one.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import io
import marshal
import os
import platform
import socket
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from .mounts import Mount
from .spawning import Child, checked_words, spawned, stream_of
from .system_filter import filter_program

_PROGRAM = str(Path(__file__).with_name("zygote.py"))


class Door(NamedTuple):
    """The way into a box: the number of its first process, and a handle of it (pidfd_open(2))."""

    first: int
    handle: int


def entered(
    command: Sequence[str],
    *,
    cwd: str | None,
    env: Mapping[str, str],
    stdin: int | None,
    stdout: int | None,
    stderr: int | None,
    door: Door | None,
    adopts: bool = False,
    mounts: Sequence[Mount] | None = None,
    network: bool = True,
    shown: Iterable[tuple[str, str]] | None = None,
    filtering: bytes | None = None,
) -> Child:
    """Start a program in a session of its own, as `spawned` does, behind a door. For a thread.

    With `mounts` it is the first process of namespaces of its own, in which only those are to be seen. With `shown` it
    is kept to those paths by Landlock. `filtering` filters its system calls; None: as in a box. With `adopts`,
    processes below it whose parent has ended become its children. Raises `OSError`, which is `ProcessLookupError` if
    the box is gone, and `ValueError` for words that no program can have.
    """
    words, variables = checked_words(command, env)
    request = {
        "command": words,
        "environment": dict(variable.split(b"=", 1) for variable in variables),
        "cwd": None if cwd is None else os.fsencode(cwd),
        "first": 0 if door is None else door.first,
        "filter": filter_program(platform.machine()) if filtering is None else filtering,
        "shown": None if shown is None else [(os.fsencode(path), access) for path, access in shown],
        "adopts": adopts,
        "mounts": None if mounts is None else [tuple(map(os.fsencode, mount[:3])) for mount in mounts],
        "network": network,
    }
    with ExitStack() as theirs, ExitStack() as ours:
        pipes, given = list[io.FileIO | None](), list[int]()
        for number, stream in enumerate((stdin, stdout, stderr)):
            descriptor, pipe = stream_of(number, stream, theirs)
            if pipe is not None:
                ours.callback(pipe.close)
            pipes.append(pipe)
            given.append(number if descriptor is None else descriptor)
        file = os.memfd_create("request")
        theirs.callback(os.close, file)
        os.write(file, marshal.dumps(request))
        if door is not None:
            given.append(door.handle)
        kind = b"." if door is None and mounts is None else b"w"
        child = Child(_asked(kind, file, given, str(command[0]), cwd), pipes)
        ours.pop_all()
    return child


def _asked(kind: bytes, file: int, given: Sequence[int], program: str, cwd: str | None) -> int:
    """Have the zygote start what is in a file, and return its number. Raises `OSError`."""
    reads, writes = os.pipe2(os.O_CLOEXEC)
    with open(reads, "rb") as answer:
        try:
            _zygote.send(kind, [writes, file, *given])
        finally:
            os.close(writes)
        said = answer.read().splitlines()
    number, failure = 0, b""
    for line in said:
        kind, _, rest = line.partition(b" ")
        match kind:
            case b"wait":
                with suppress(ChildProcessError):
                    os.waitpid(int(rest), 0)
            case b"program":
                number = int(rest)
            case _:
                failure = rest
    if failure:
        if number:
            with suppress(ChildProcessError):
                os.waitpid(number, 0)
        code, _, what = failure.partition(b" ")
        raise OSError(int(code), os.strerror(int(code)), os.fsdecode(what) or cwd or program)
    if not number:
        raise ConnectionAbortedError(errno.ECONNABORTED, "what starts programs has ended", program)
    return number


class _Zygote:
    """The zygote of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._pid = 0
        self._child: Child | None = None

    def send(self, kind: bytes, descriptors: Sequence[int]) -> None:
        """Send a request. Raises `OSError`."""
        with self._lock:
            if self._socket is None or self._pid != os.getpid():
                self._start()
            assert self._socket is not None
            try:
                socket.send_fds(self._socket, [kind], descriptors)
            except (BrokenPipeError, ConnectionError):  # somebody has killed it
                self._start()
                socket.send_fds(self._socket, [kind], descriptors)

    def _start(self) -> None:
        if self._socket is not None:
            self._socket.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, open(os.devnull, "r+b", buffering=0) as nothing:
            number = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 3)
            try:
                self._child = spawned(
                    [sys.executable, "-I", "-S", _PROGRAM],
                    cwd="/",
                    env={},
                    stdin=number,
                    stdout=nothing.fileno(),
                    stderr=nothing.fileno(),
                )
            finally:
                os.close(number)
        self._socket, self._pid = ours, os.getpid()
        atexit.register(ours.close)


_zygote = _Zygote()
