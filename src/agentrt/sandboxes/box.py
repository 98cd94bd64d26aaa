"""`Box`: the namespaces of a conversation on this machine, which each of its programs enters.

`holding.py` makes them, with a first process that ends with this one. A box is made with the first program or file that
needs it, and anew if the workspace was removed and made again, since its mount is dead then.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from ..errors import ToolError
from .entering import entered
from .holding import Held, Hold, Root, hold
from .installed import is_in
from .mounts import BROAD, box_mounts, reading
from .private import PrivateFiles
from .readers import confined_reader
from .spawning import Child

_MOST_ENDED = 16
"""Maximum number of boxes that have ended whose handles are open."""


class Box:
    """The box of a conversation in a workspace of this machine. All methods are for a thread: they block."""

    def __init__(
        self, workspace: str, hidden: Sequence[str] = (), caches: Sequence[str] = (), make: Hold | None = None
    ) -> None:
        """`hidden` are directories that are covered even in the workspace; `caches` are shown as they are, writable.
        `make` makes its namespaces; None: in the way that works here.
        """
        self._make_held = make or hold
        self._workspace, self._hidden, self._caches = workspace, tuple(hidden), tuple(caches)
        self._real = os.path.realpath(workspace)
        self._lock = threading.RLock()
        self._files = PrivateFiles("box-", temporary=0o1777)
        self._made: _Made | None = None
        self._ended = deque[_Made]()
        self._is_closed = False

    temporary = "/tmp"

    @property
    def home(self) -> str:
        """The home of its programs."""
        return os.path.expanduser("~")

    def root(self) -> Root:
        """Return what is "/" inside. Raises `ToolError`."""
        return self._current().held.root

    def terminal(self) -> int:
        """Return the descriptor of a new terminal's master, of those that only the box has. Raises `ToolError`."""
        root = self.root()
        return os.open(f"{root.path}/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)

    def check(self, path: str, real: str, access: str) -> None:
        """Allow every path: only what the box shows is below its root."""

    def spawned(self, command: Sequence[str], *, cwd: str | None, talks: bool = False, **given: Any) -> Child:
        """Start a program inside, given as for `entered`; any may talk by its sockets. Raises `OSError`, `ValueError`
        and `ToolError`.
        """
        cwd = None if cwd is None else os.path.abspath(cwd)
        for last in (False, True):
            door = self._current().held.door
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
            return self._files.directory(prefix, writable=writable)

    def read(self, command: Sequence[str], *, cwd: str | None, **given: Any) -> Child:
        """Start a program of our own that sees what is inside, but can write nothing and has no network. It is behind a
        wall of its own, and ends by itself. Raises `OSError`, `ValueError` and `ToolError`.
        """
        with self._lock, ExitStack() as holding:
            self._refuse_another()
            shown = self._files.shown(self._workspace, self._hidden, self._caches)
            mounts = reading(box_mounts(shown, holding), shown)
        return confined_reader(command, mounts, cwd=cwd, **given)

    def close(self) -> None:
        """End all that is in it, and remove its files. May be called twice."""
        with self._lock:
            self._is_closed = True
            self._end()
            while self._ended:
                self._ended.popleft().held.release()
            self._files.remove()

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
            shown = self._files.shown(self._workspace, self._hidden, self._caches)
            mounts = box_mounts(shown, holding)
            made = self._make_held(mounts)
            if not all(made.shows(one) for one in mounts if one.held >= 0):  # what makes it goes by path
                made.end()
                made.release()
                raise ToolError(f"{self._workspace}/.git changed while its box was made: try again")
            return _Made(made, identity)

    def _refuse_another(self) -> None:
        """Raise `ToolError` if the workspace leads elsewhere by now: somebody may have put a link in its place."""
        if os.path.realpath(self._workspace) != self._real:
            raise ToolError(f"{self._workspace} leads elsewhere than when the conversation was opened")
        if why := cannot_hold(self._workspace):
            raise ToolError(why)

    def _end(self) -> None:
        """End what is in it now. Its handles stay open for a while: other threads may be about to use them."""
        with self._lock:
            made, self._made = self._made, None
            if made is None:
                return
            self._ended.append(made)
            made.held.end()
            if len(self._ended) > _MOST_ENDED:
                self._ended.popleft().held.release()


class _Made(NamedTuple):
    """A box that was made, and which directory its workspace was then: device and number."""

    held: Held
    identity: tuple[int, int]


def _identity(workspace: str) -> tuple[int, int]:
    try:
        found = os.stat(workspace)
    except OSError as error:
        raise ToolError(f"the workspace {workspace} is not there: {error.strerror or error}") from error
    return found.st_dev, found.st_ino


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
