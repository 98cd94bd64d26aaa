"""`hold`: makes the namespaces of a box, in which a first process waits for the end of a pipe of ours.

They are made by bubblewrap (bwrap(1)), or by the zygote where that is missing. The first process is a bash, which ends
once our end of the pipe closes, also because this process was killed; the system then ends all that is in the box.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from subprocess import DEVNULL, PIPE

import msgspec

from ..errors import ToolError
from .entering import Door, entered
from .installed import installed
from .mounts import Mount, options_of, system_mounts
from .spawning import Child, can_spawn, spawned

_WAITING = "echo; read -r"
"""What the first process does. Its line says that all mounts are made, and all descriptors of this machine closed."""

_FIRST = 5
"""The first number that bwrap gets of the descriptors of what it mounts."""

_READY = b"\n"


class Root:
    """The root of a box. It is open as long as somebody has this: a number that is closed becomes another file's."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def path(self) -> str:
        """The path by which this process reaches it."""
        return f"/proc/self/fd/{self._descriptor}"

    def __del__(self) -> None:
        os.close(self._descriptor)


class Held(msgspec.Struct, frozen=True):
    """Namespaces that were made: their holder, the way into them, and the handle of their root. All is for a thread."""

    holder: Child
    door: Door
    root: Root

    def shows(self, mount: Mount) -> bool:
        """Return whether what a mount holds is where it was to be."""
        try:
            found = os.stat(f"{self.root.path}{mount.path}", follow_symlinks=False)
        except OSError:
            return False
        wanted = os.fstat(mount.held)
        return (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)

    def end(self) -> None:
        """End all that is in them."""
        assert self.holder.stdin is not None
        self.holder.stdin.close()
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.door.handle, signal.SIGKILL)
        self.holder.wait()

    def release(self) -> None:
        """Close the handle of the first process."""
        os.close(self.door.handle)


Hold = Callable[[Sequence[Mount]], Held]
"""Makes namespaces in which mounts are to be seen, for a thread. Raises `ToolError`."""


def hold(mounts: Sequence[Mount]) -> Held:
    """Make namespaces in which mounts are to be seen, as `way` says. For a thread. Raises `ToolError`."""
    return _WAYS[way() or BUBBLEWRAP](mounts)


BUBBLEWRAP, OURSELVES = "bubblewrap", "namespaces of its own"


def by_bubblewrap(mounts: Sequence[Mount]) -> Held:
    """Make them by bwrap(1). Raises `ToolError`."""
    held = [mount.held for mount in mounts if mount.held >= 0]
    options = options_of(mounts, network=True, first=_FIRST)
    closing = "".join(f" {_FIRST + at}<&-" for at in range(len(held)))
    command = f"exec{closing}; {_WAITING}" if held else _WAITING
    told, told_theirs = os.pipe2(os.O_CLOEXEC)
    errors, errors_theirs = os.pipe2(os.O_CLOEXEC)
    with open(told, "rb") as facts, open(errors, "rb") as words:
        try:
            with in_memory(b"\0".join(map(os.fsencode, options)) + b"\0") as file:
                bash = [program("bash"), "--norc", "-c", command]
                holder = spawned(
                    [program("bwrap"), "--info-fd", "3", "--args", "4", "--as-pid-1", *bash],
                    cwd="/",
                    env={"PATH": os.defpath},
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=errors_theirs,
                    passed=(told_theirs, file, *held),
                )
        except OSError as error:
            raise ToolError(f"a box cannot be made: {error.strerror or error}") from error
        finally:
            os.close(told_theirs)
            os.close(errors_theirs)
        said = facts.read()
        if not _is_ready(holder):
            why = words.read(2048).decode(errors="replace").strip() or f"bwrap ended with {holder.poll()}"
            raise ToolError(f"a box cannot be made: {why}")
    return _held(holder, msgspec.json.decode(said)["child-pid"])


def by_ourselves(mounts: Sequence[Mount]) -> Held:
    """Make them by the zygote. Raises `ToolError`."""
    try:
        holder = entered(
            [program("bash"), "--norc", "-c", _WAITING],
            cwd="/",
            env={"PATH": os.defpath},
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            door=None,
            mounts=mounts,
        )
    except OSError as error:
        raise ToolError(f"a box cannot be made: {error.filename or ''}: {error.strerror or error}") from error
    if not _is_ready(holder):
        raise ToolError(f"a box cannot be made: bash ended with {holder.poll()}")
    return _held(holder, holder.pid)


_WAYS: dict[str, Hold] = {BUBBLEWRAP: by_bubblewrap, OURSELVES: by_ourselves}


def _is_ready(holder: Child) -> bool:
    """Return whether the first process waits. If it does not, it has ended."""
    assert holder.stdin is not None
    assert holder.stdout is not None
    ready = b""
    with suppress(OSError):
        ready = holder.stdout.read(1) or b""
    holder.stdout.close()
    if ready != _READY:
        holder.stdin.close()
        holder.wait()
    return ready == _READY


def _held(holder: Child, first: int) -> Held:
    handle = os.pidfd_open(first)
    root = Root(os.open(f"/proc/{first}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
    return Held(holder, Door(first, handle), root)


def way() -> str:
    """Return how a box is made on this machine; "" if none can be. It is tried until it succeeds. For a thread."""
    if not _works:
        whats_missing()
    return _works[0] if _works else ""


def whats_missing() -> str:
    """Return why no box can be made on this machine; "" if it can. It is tried until it succeeds. For a thread."""
    if _works:
        return ""
    if not can_spawn():
        return "boxes need Linux with glibc 2.34 or newer"
    if _failed and time.monotonic() < _failed[-1][0] + PATIENCE:
        return _failed[-1][1]
    reasons = list[str]()
    for name, make in _WAYS.items():
        if not (why := _tried(name, make)):
            _works.append(name)
            return ""
        reasons.append(f"with {name}: {why}")
    _failed[:] = [(time.monotonic(), "; ".join(reasons))]
    return _failed[-1][1]


PATIENCE = 60.0
"""Seconds until what has failed is tried again: a failure may pass, such as a lack of descriptors."""

_works = list[str]()
"""Has an entry once a box was made."""

_failed = list[tuple[float, str]]()
"""When it failed last, and why."""


def _tried(name: str, make: Hold) -> str:
    """Return why a box cannot be made and entered in a way; "" if it can."""
    if name == BUBBLEWRAP:
        try:
            program("bwrap")
        except FileNotFoundError:
            return "it is not installed: install the package bubblewrap with your system"
    try:
        made = make(system_mounts())
    except (ToolError, OSError) as error:
        return str(error)
    try:
        tried = entered(
            ["true"], cwd="/", env={"PATH": os.defpath}, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, door=made.door
        )
        return "" if tried.wait() == 0 else "a program in a box did not run"
    except OSError as error:
        return f"a box cannot be entered: {error.filename or ''}: {error.strerror or error}"
    finally:
        made.end()
        made.release()


def program(name: str) -> str:
    """Return the path of a program that a wall needs, also if `PATH` is empty. Raises `FileNotFoundError`."""
    try:
        return installed(name)
    except FileNotFoundError:
        if (found := shutil.which(name, path=os.defpath)) is None:
            raise
        return found


@contextmanager
def in_memory(data: bytes) -> Iterator[int]:
    """Yield the descriptor of a file in memory: nothing inside sees it in the list of processes."""
    descriptor = os.memfd_create("given")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
