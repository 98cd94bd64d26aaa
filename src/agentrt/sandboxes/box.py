"""`Box`: the namespaces of a conversation on this machine, which each of its programs enters.

A holder makes them: bubblewrap (bwrap(1)) with a bash that is the first process inside, and reads a pipe of ours. When
our end closes, also because this process was killed, it ends, and the system ends all that is in the box with it. Until
then it collects those whose parent has ended. A box is made with the first program or file that needs it, and anew if
the workspace was removed and made again, since its mount is dead then.
"""

from __future__ import annotations

import errno
import os
import platform
import shutil
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from subprocess import DEVNULL, PIPE
from typing import Any

import msgspec

from ..errors import ToolError
from ..placing import Reader
from ..scratch import runtime_directory
from .entering import Door, entered
from .installed import installed, is_in
from .mounts import BROAD, Mount, Shown, box_mounts, options_of, reader_mounts, reading
from .spawning import Child, can_spawn, spawned
from .system_filter import filter_program

_HOLDER = "echo; read -r"
"""What the first process does. Its line says that all mounts are made, and all descriptors of this machine closed."""

_FIRST = 5
"""The first number that bwrap gets of the descriptors of what it mounts."""

_MOST_ENDED = 16
"""Maximum number of boxes that have ended whose handles are open."""

_READY = b"\n"


class Box:
    """The box of a conversation in a workspace of this machine. All methods are for a thread: they block."""

    def __init__(self, workspace: str, hidden: Sequence[str] = (), caches: Sequence[str] = ()) -> None:
        """`hidden` are directories that are covered even in the workspace; `caches` are shown as they are, writable."""
        self._workspace, self._hidden, self._caches = workspace, tuple(hidden), tuple(caches)
        self._real = os.path.realpath(workspace)
        self._lock = threading.RLock()
        self._directory = ""
        self._made: _Made | None = None
        self._ended = deque[_Made]()
        self._is_closed = False

    def root(self) -> Root:
        """Return what is "/" inside. Raises `ToolError`."""
        return self._current().root

    def terminal(self) -> int:
        """Return the descriptor of a new terminal's master, of those that only the box has. Raises `ToolError`."""
        root = self.root()
        return os.open(f"{root.path}/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)

    def spawned(self, command: Sequence[str], *, cwd: str | None, **given: Any) -> Child:
        """Start a program inside, given as for `entered`. Raises `OSError`, `ValueError` and `ToolError`."""
        cwd = None if cwd is None else os.path.abspath(cwd)
        for last in (False, True):
            door = self._current().door
            try:
                return entered(command, cwd=cwd, door=door, **given)
            except ProcessLookupError:
                if last:
                    raise
                self._end()  # somebody has killed the holder
        raise AssertionError

    def directory(self, prefix: str, *, writable: bool) -> str:
        """Make a private directory that programs inside see under the same path, and return that. Raises `ToolError`
        and `OSError`.
        """
        with self._lock:
            if self._is_closed:
                raise ToolError("the conversation's box was closed")
            return tempfile.mkdtemp(prefix=prefix, dir=f"{self._files()}/{'written' if writable else 'given'}")

    def read(self, command: Sequence[str], *, cwd: str | None, **given: Any) -> Child:
        """Start a program of our own that sees what is inside, but can write nothing and has no network. It is behind a
        wall of its own, and ends by itself. Raises `OSError`, `ValueError` and `ToolError`.
        """
        with self._lock, ExitStack() as holding:
            self._refuse_another()
            shown = self._shown()
            mounts = reading(box_mounts(shown, holding), shown)
        return confined_reader(command, mounts, cwd=cwd, **given)

    def close(self) -> None:
        """End all that is in it, and remove its files. May be called twice."""
        with self._lock:
            self._is_closed = True
            self._end()
            while self._ended:
                self._ended.popleft().release()
            if self._directory:
                runtime_directory.remove(self._directory)
                self._directory = ""

    def _current(self) -> _Made:
        with self._lock:
            if self._is_closed:
                raise ToolError("the conversation's box was closed")
            identity = _identity(self._workspace)
            if self._made is not None and self._made.identity != identity:
                self._end()
            if self._made is None:
                self._made = self._make(identity)
            return self._made

    def _make(self, identity: tuple[int, int]) -> _Made:
        self._refuse_another()
        with ExitStack() as holding:
            mounts = box_mounts(self._shown(), holding)
            held = [mount for mount in mounts if mount.held >= 0]
            made = _Made.of(options_of(mounts, network=True, first=_FIRST), identity, [one.held for one in held])
            if not all(made.shows(one) for one in held):  # bwrap goes by path, and somebody has put a link there
                made.end()
                made.release()
                raise ToolError(f"{self._workspace}/.git changed while its box was made: try again")
            return made

    def _refuse_another(self) -> None:
        """Raise `ToolError` if the workspace leads elsewhere by now: somebody may have put a link in its place."""
        if os.path.realpath(self._workspace) != self._real:
            raise ToolError(f"{self._workspace} leads elsewhere than when the conversation was opened")
        if why := cannot_hold(self._workspace):
            raise ToolError(why)

    def _shown(self) -> Shown:
        files = self._files()
        ours = {name: f"{files}/{name}" for name in ("given", "written")}
        return Shown(self._workspace, f"{files}/home", f"{files}/tmp", **ours, hidden=self._hidden, caches=self._caches)

    def _files(self) -> str:
        if not self._directory:
            made = runtime_directory.directory("box-")
            for name, mode in (("home", 0o700), ("tmp", 0o1777), ("given", 0o700), ("written", 0o700)):
                os.mkdir(f"{made}/{name}")
                os.chmod(f"{made}/{name}", mode)
            self._directory = made
        return self._directory

    def _end(self) -> None:
        """End what is in it now. Its handles stay open for a while: other threads may be about to use them."""
        with self._lock:
            made, self._made = self._made, None
            if made is None:
                return
            self._ended.append(made)
            made.end()
            if len(self._ended) > _MOST_ENDED:
                self._ended.popleft().release()


def confined_reader(
    command: Sequence[str], mounts: Iterable[Mount], *, cwd: str | None, env: Mapping[str, str], **streams: Any
) -> Child:
    """Start a program behind a wall of its own, without a network. For a thread. Raises `OSError` and `ValueError`."""
    name, *words = command
    if os.sep not in name:
        name = installed(name)
    elif not os.path.exists(name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    options = [*options_of(mounts, network=False), "--chdir", cwd or "/"]
    for variable, value in env.items():
        options += ("--setenv", variable, value)
    code = filter_program(platform.machine())
    with _file(b"\0".join(map(os.fsencode, (*options, "--seccomp", "4"))) + b"\0") as file, _file(code) as filtering:
        started = spawned(
            [_program("bwrap"), "--args", "3", name, *words],
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


class _Made(msgspec.Struct):
    """A box that was made: its holder, the handles of its first process and of its root, and its workspace then."""

    holder: Child
    door: Door
    root: Root
    identity: tuple[int, int]

    @classmethod
    def of(cls, options: Sequence[str], identity: tuple[int, int], held: Sequence[int] = ()) -> _Made:
        """Make a box with these options of bwrap(1), which gets what is `held`. Raises `ToolError`."""
        closing = "".join(f" {_FIRST + at}<&-" for at in range(len(held)))
        command = f"exec{closing}; {_HOLDER}" if held else _HOLDER
        reads, writes = os.pipe2(os.O_CLOEXEC)
        errors_read, errors_write = os.pipe2(os.O_CLOEXEC)
        with open(reads, "rb") as told, open(errors_read, "rb") as errors:
            try:
                with _file(b"\0".join(map(os.fsencode, options)) + b"\0") as file:
                    holder = spawned(
                        [
                            _program("bwrap"),
                            "--info-fd",
                            "3",
                            "--args",
                            "4",
                            "--as-pid-1",
                            _program("bash"),
                            "--norc",
                            "-c",
                            command,
                        ],
                        cwd="/",
                        env={"PATH": os.defpath},
                        stdin=PIPE,
                        stdout=PIPE,
                        stderr=errors_write,
                        passed=(writes, file, *held),
                    )
            except OSError as error:
                raise ToolError(f"a box cannot be made: {error.strerror or error}") from error
            finally:
                os.close(writes)
                os.close(errors_write)
            said = told.read()
            assert holder.stdin is not None
            assert holder.stdout is not None
            ready = b""
            with suppress(OSError):
                ready = holder.stdout.read(1) or b""
            holder.stdout.close()
            if ready != _READY:
                holder.stdin.close()
                holder.wait()
                why = errors.read(2048).decode(errors="replace").strip() or f"bwrap ended with {holder.poll()}"
                raise ToolError(f"a box cannot be made: {why}")
        first = msgspec.json.decode(said)["child-pid"]
        handle = os.pidfd_open(first)
        root = Root(os.open(f"/proc/{first}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
        return cls(holder, Door(first, handle), root, identity)

    def shows(self, mount: Mount) -> bool:
        """Return whether what a mount holds is where it was to be."""
        try:
            found = os.stat(f"{self.root.path}{mount.path}", follow_symlinks=False)
        except OSError:
            return False
        wanted = os.fstat(mount.held)
        return (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)

    def end(self) -> None:
        """End all that is in it."""
        assert self.holder.stdin is not None
        self.holder.stdin.close()
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.door.handle, signal.SIGKILL)
        self.holder.wait()

    def release(self) -> None:
        """Close its handle."""
        os.close(self.door.handle)


def _program(name: str) -> str:
    """Return the path of a program that a wall needs, also if `PATH` is empty. Raises `FileNotFoundError`."""
    try:
        return installed(name)
    except FileNotFoundError:
        if (found := shutil.which(name, path=os.defpath)) is None:
            raise
        return found


@contextmanager
def _file(data: bytes) -> Iterator[int]:
    """Yield the descriptor of a file in memory: nothing inside sees it in the list of processes."""
    descriptor = os.memfd_create("given")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _identity(workspace: str) -> tuple[int, int]:
    try:
        found = os.stat(workspace)
    except OSError as error:
        raise ToolError(f"the workspace {workspace} is not there: {error.strerror or error}") from error
    return found.st_dev, found.st_ino


def whats_missing() -> str:
    """Return why no box can be made on this machine; "" if it can. It is tried until it succeeds. For a thread."""
    if not _works:
        missing = _tried()
        if missing:
            return missing
        _works.append(True)
    return ""


_works = list[bool]()
"""Has an entry once a box was made: a failure may pass, such as a lack of descriptors."""


def _tried() -> str:
    """Return why a box cannot be made and entered; "" if it can."""
    if not can_spawn():
        return "boxes need Linux with glibc 2.34 or newer"
    try:
        _program("bwrap")
    except FileNotFoundError:
        return "bubblewrap is not installed: install the package bubblewrap with your system"
    options = ("--unshare-user", "--disable-userns", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc")
    try:
        made = _Made.of(options, (0, 0))
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


def cannot_hold(workspace: str) -> str:
    """Return why a workspace cannot be in a box; "" if it can. For a thread."""
    real = os.path.realpath(workspace)
    if real in BROAD:
        return f"{workspace} holds far more than a project: give a directory below it"
    if is_in(os.path.realpath(tempfile.gettempdir()), real):
        return f"TMPDIR is in the workspace {workspace}: no box can be made until it is elsewhere"
    try:
        status = os.stat(real)
    except OSError:
        return ""  # it is made by this user
    if status.st_uid != os.geteuid() and not status.st_mode & 0o002 and status.st_gid not in os.getgroups():
        return (
            f"{workspace} belongs to another user (number {status.st_uid}), and nothing in a box may write there, not"
            " even as root: run this as that user, or give the directory to this one"
        )
    return ""
