"""`Fence`: what holds a conversation's programs where no box can be made: Landlock and a filter of system calls.

Each program is kept to the files that a box would show, and has a home and a directory for temporary files of its own,
under their real paths. It is less than a box, see `not_held`. File tools are kept to the same paths by `check`.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from subprocess import DEVNULL
from typing import Any

from ..errors import ToolError
from .entering import entered
from .installed import is_in
from .landlock import READ, WRITE, version
from .mounts import Mount, box_mounts
from .private import PrivateFiles
from .spawning import Child, can_spawn
from .system_filter import filter_program

LEAST = 3
"""The version of Landlock from which on files cannot be truncated either."""

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")

_AT_HOME = {"PYENV_ROOT": "~/.pyenv", "RUSTUP_HOME": "~/.rustup", "GIT_CONFIG_GLOBAL": "~/.gitconfig"}
"""Variables that name what programs look for in the home, since they have another one."""


class Fence:
    """The fence of a conversation in a workspace of this machine. All methods are for a thread: they block."""

    def __init__(self, workspace: str, hidden: Sequence[str] = (), caches: Sequence[str] = ()) -> None:
        """`hidden` and `caches` are as for a `Box`."""
        self._workspace, self._hidden, self._caches = workspace, tuple(hidden), tuple(caches)
        self._files = PrivateFiles("fence-", temporary=0o700)
        self._shown: tuple[tuple[str, str], ...] = ()

    @property
    def home(self) -> str:
        """The home of its programs."""
        return f"{self._files.path}/home"

    @property
    def temporary(self) -> str:
        """Their directory for temporary files."""
        return f"{self._files.path}/tmp"

    def root(self) -> None:
        """Return None: its paths are those of this machine."""

    def terminal(self) -> int:
        """Return the descriptor of a new terminal's master."""
        return os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)

    def spawned(
        self, command: Sequence[str], *, cwd: str | None, env: Mapping[str, str], talks: bool = False, **given: Any
    ) -> Child:
        """Start a program inside, given as for `entered`; with `talks`, it can use Unix sockets. Raises `OSError`,
        `ValueError` and `ToolError`.
        """
        sockets = "all" if talks else "network"
        return fenced(command, self._paths(), cwd=cwd, env={**env, **self._variables()}, sockets=sockets, **given)

    def read(self, command: Sequence[str], *, cwd: str | None, **given: Any) -> Child:
        """Start a program of our own that sees what is inside, but can write nothing and has no network. Raises
        `OSError`, `ValueError` and `ToolError`.
        """
        return fenced(command, [(path, READ) for path, _ in self._paths()], cwd=cwd, sockets="none", **given)

    def directory(self, prefix: str, *, writable: bool) -> str:
        """Make a private directory that programs inside see, and return its path. Raises `OSError`."""
        return self._files.directory(prefix, writable=writable)

    def check(self, path: str, real: str, access: str) -> None:
        """Raise `ToolError` if a file tool must not read or write what an absolute path leads to."""
        for place, has in self._paths():
            if is_in(real, place) and (access == READ or has == WRITE):
                return
        raise ToolError(f"{path} is outside of what this conversation may {access}: work in {self._workspace}")

    def close(self) -> None:
        """Remove its files. May be called twice."""
        self._files.remove()

    def _paths(self) -> tuple[tuple[str, str], ...]:
        if not self._shown:
            shown = self._files.shown(self._workspace, self._hidden, self._caches)
            with ExitStack() as holding:
                self._shown = tuple(paths_of(box_mounts(shown, holding)))
        return self._shown

    def _variables(self) -> dict[str, str]:
        there = {name: os.path.expanduser(path) for name, path in _AT_HOME.items()}
        return {
            **{name: path for name, path in there.items() if os.path.exists(path)},
            "HOME": self.home,
            "TMPDIR": self.temporary,
        }


def fenced(
    command: Sequence[str],
    shown: Iterable[tuple[str, str]],
    *,
    cwd: str | None,
    env: Mapping[str, str],
    sockets: str,
    **given: Any,
) -> Child:
    """Start a program that is kept to paths, and to `sockets`: "all", "network", or "none". For a thread. Raises
    `OSError` and `ValueError`.
    """
    filtering = filter_program(platform.machine(), sockets)
    shown = (*shown, *_FOR_PROGRAMS)
    return entered(command, cwd=cwd, env=env, door=None, shown=shown, filtering=filtering, **given)


_FOR_PROGRAMS = (("/proc", READ),)
"""What programs see besides. Landlock keeps them from other processes there; file tools are in a process without it."""


def paths_of(mounts: Iterable[Mount]) -> Iterator[tuple[str, str]]:
    """Yield the paths that mounts show, without links in them, each with `READ` or `WRITE`: of a directory in which
    something is covered, what is beside that.
    """
    given = list(mounts)
    covered = [mount.path for mount in given if mount.kind in ("empty", "blank")]
    for kind, path, source, _ in given:
        if kind in ("read", "write"):
            real = os.path.realpath(source or path)
            yield from ((one, WRITE if kind == "write" else READ) for one in _beside(real, covered))
    yield from ((os.path.realpath(f"/dev/{name}"), WRITE) for name in _DEVICES)


def _beside(path: str, covered: Sequence[str]) -> Iterator[str]:
    if path in covered:
        return
    if not any(is_in(one, path) for one in covered):
        yield path
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if not entry.is_symlink():
                yield from _beside(entry.path, covered)


def not_held() -> list[str]:
    """Return what a fence does not hold that a box does."""
    found = [
        "the list of all processes, with their command lines, and whether a file exists",
        "the mode, the times and attributes of your other files, and the names of new ones",
        "the priority and the limits of your other processes, which can be ended by them (prlimit)",
        "System V shared memory, UDP, Unix datagram sockets, and any Unix sockets for Python cells",
        "hooks of git, and a virtual environment in the workspace, which can be written",
        "memory that processes share (/dev/shm) is not there",
        "what is left running when agentrt itself is killed, until the conversation is opened again",
    ]
    if version() < 6:
        found.append("signals to your own processes, and sockets without a path (before Linux 6.12)")
    return found


def cannot_fence(workspace: str, hidden: Iterable[str]) -> str:
    """Return why there can be no fence around a workspace; "" if there can. For a thread."""
    real = os.path.realpath(workspace)
    for one in hidden:
        if is_in(os.path.realpath(one), real):
            return f"{one} is in the workspace, and only a box can hide it there: keep it elsewhere"
    return ""


def fence_is_missing() -> str:
    """Return why there can be no fence on this machine; "" if there can, as was tried. For a thread."""
    return _missing()


@cache
def _missing() -> str:
    if not can_spawn():
        return "it needs Linux with glibc 2.34 or newer"
    if (has := version()) < LEAST:
        return f"Landlock is missing, or too old (version {has}; it needs Linux 6.2)"
    if not filter_program(platform.machine(), "network"):
        return f"the processor {platform.machine()} is not known"
    streams = {"stdin": DEVNULL, "stdout": DEVNULL, "stderr": DEVNULL}
    try:
        tried = fenced(["true"], [("/", READ)], cwd="/", env={"PATH": os.defpath}, sockets="none", **streams)
    except OSError as error:
        return f"{error.filename or 'true'}: {error.strerror or error}"
    return "" if tried.wait() == 0 else "a program behind it did not run"
