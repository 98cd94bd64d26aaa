"""`spawned`: starts a process by posix_spawn(3) of the C library, which does not hold Python's lock meanwhile.

`subprocess` and `os.posix_spawn` keep the lock until the new program runs, wherever they are called: with many starts,
or on a busy machine, the event loop stands still for that long. Nothing of this process is copied: the child shares its
memory until it runs the program.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import io
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from subprocess import DEVNULL, PIPE
from typing import IO, Any

from ..loading import libc

_SETSIGDEF, _SETSID = 0x04, 0x80
"""Flags of posix_spawnattr_setflags(3); the second one is in glibc 2.26 and musl 1.1.24."""

_ROOM = 1024
"""Bytes that are enough for each of the library's structures, and for a set of signals."""


class Child:
    """A process that was started, with our ends of its pipes. It is a child of this process until it was waited for."""

    def __init__(self, pid: int, pipes: Sequence[io.FileIO | None]) -> None:
        self.pid = pid
        self.stdin: IO[bytes] | None
        self.stdout: IO[bytes] | None
        self.stderr: IO[bytes] | None
        self.stdin, self.stdout, self.stderr = pipes
        self._code: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        with self._lock:
            if self._code is None:
                self._take()
            return self._code

    def wait(self) -> int:
        """Wait until it ends, and return its exit code. For a thread, unless it has ended."""
        while (code := self.poll()) is None:
            with suppress(ChildProcessError):  # somebody else has waited for it by now, maybe `poll`
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def __del__(self) -> None:
        if self._code is None and self.poll() is None:
            _left.append(self)

    def _take(self) -> None:
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            self._code = 0  # somebody else has waited for it
        else:
            if pid:
                self._code = os.waitstatus_to_exitcode(status)


_left: list[Child] = []
"""Processes that nobody waits for any more. They are waited for when others are started."""


def spawned(
    command: Sequence[str],
    *,
    cwd: str | None,
    env: Mapping[str, str],
    stdin: int | None,
    stdout: int | None,
    stderr: int | None,
    passed: Sequence[int] = (),
) -> Child:
    """Start a program in a session of its own, in the directory `cwd` (None: that of this process). For a thread.

    Its streams are descriptors, `PIPE`, `DEVNULL`, or those of this process (None). It has no other descriptors but
    those that are `passed`, which it gets as 3 and up.
    Raises `OSError`, and `ValueError` for arguments that no program can have.
    """
    for child in list(_left):  # others may add to it meanwhile
        if child.poll() is not None:
            with suppress(ValueError):
                _left.remove(child)
    words, variables = map(_array, checked_words(command, env))
    program = _found(os.fspath(command[0]), env, cwd)
    with ExitStack() as theirs, ExitStack() as ours:
        pipes = list[io.FileIO | None]()
        actions, attributes = ctypes.create_string_buffer(_ROOM), ctypes.create_string_buffer(_ROOM)
        library = libc()
        _called(library.posix_spawn_file_actions_init, actions)
        theirs.callback(library.posix_spawn_file_actions_destroy, actions)
        for number, given in enumerate((stdin, stdout, stderr)):
            descriptor, pipe = stream_of(number, given, theirs)
            if pipe is not None:
                ours.callback(pipe.close)
            pipes.append(pipe)
            if descriptor is not None:
                _called(library.posix_spawn_file_actions_adddup2, actions, descriptor, number)
        for number, descriptor in enumerate(passed, 3):
            copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3 + len(passed))  # no number that another one gets
            theirs.callback(os.close, copy)
            _called(library.posix_spawn_file_actions_adddup2, actions, copy, number)
        _called(library.posix_spawn_file_actions_addclosefrom_np, actions, 3 + len(passed))
        if cwd is not None:
            _called(library.posix_spawn_file_actions_addchdir_np, actions, _bytes(cwd))
        _called(library.posix_spawnattr_init, attributes)
        theirs.callback(library.posix_spawnattr_destroy, attributes)
        _called(library.posix_spawnattr_setflags, attributes, ctypes.c_short(_SETSIGDEF | _SETSID))
        signals = ctypes.create_string_buffer(_ROOM)
        _called(library.sigemptyset, signals)
        for one in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            _called(library.sigaddset, signals, int(one))
        _called(library.posix_spawnattr_setsigdefault, attributes, signals)
        pid = ctypes.c_int()
        number = library.posix_spawn(ctypes.byref(pid), _bytes(program), actions, attributes, words, variables)
        if number:
            is_there = cwd is None or (os.path.isdir(cwd) and os.access(cwd, os.X_OK))
            raise OSError(number, os.strerror(number), program if is_there else cwd)
        ours.pop_all()
    return Child(pid.value, pipes)


@cache
def can_spawn() -> bool:
    """Return whether the C library has what this needs: glibc since 2.34 has."""
    return sys.platform == "linux" and all(
        hasattr(libc(), f"posix_spawn_file_actions_add{name}_np") for name in ("chdir", "closefrom")
    )


def _called(function: Any, *arguments: object) -> None:
    if result := function(*arguments):
        number = result if result > 0 else errno.EINVAL
        raise OSError(number, os.strerror(number))


def stream_of(number: int, given: int | None, theirs: ExitStack) -> tuple[int | None, io.FileIO | None]:
    """Return the descriptor that becomes a stream of the process, if any, and our end of it if it is a pipe.

    The descriptor is higher than those of the streams, so that none is overwritten before it was used.
    """
    if given is None:
        return None, None
    pipe: io.FileIO | None = None
    descriptor = given
    if given == PIPE:
        reads, writes = os.pipe2(os.O_CLOEXEC)
        mine, descriptor = (writes, reads) if number == 0 else (reads, writes)
        theirs.callback(os.close, descriptor)
        pipe = io.FileIO(mine, "wb" if number == 0 else "rb")
    elif given == DEVNULL:
        descriptor = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        theirs.callback(os.close, descriptor)
    if descriptor < 3:
        descriptor = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
        theirs.callback(os.close, descriptor)
    return descriptor, pipe


def _found(program: str, env: Mapping[str, str], cwd: str | None) -> str:
    """Return the path of a program, as execvp(3) finds it from the directory of the new process."""
    if os.sep in program:
        return program
    number = errno.ENOENT
    for place in env.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(cwd or os.curdir, place, program)
        if os.path.isfile(path):
            if os.access(path, os.X_OK):
                return path
            number = errno.EACCES
    raise OSError(number, os.strerror(number), program)


def checked_words(command: Sequence[str], env: Mapping[str, str]) -> tuple[list[bytes], list[bytes]]:
    """Return a command and its variables as the system takes them. Raises `ValueError` if no program can have them."""
    return [_bytes(word) for word in command], [_variable(*pair) for pair in env.items()]


def _variable(name: str, value: str) -> bytes:
    if not name or "=" in name:
        raise ValueError("illegal environment variable name")
    return _bytes(f"{name}={value}")


def _bytes(word: str | os.PathLike[str]) -> bytes:
    encoded = os.fsencode(word)
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    return encoded


def _array(words: Sequence[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)
