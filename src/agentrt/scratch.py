"""The runtime directory: the temporary files of this process, which a later one removes if this one is killed.

Each process has one, `agentrt-run-NAME` in the directory for temporary files. It is locked (flock(2)), and the kernel
frees the lock however the process ends. What the process starts has `AGENTRT_RUNTIME=NAME` in its environment. So the
next start knows which directories and processes have lost their owner, and never touches those of an owner that lives.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.to_thread

RUNTIME = "AGENTRT_RUNTIME"
"""The environment variable that names the runtime directory of the process that started a process."""

_PREFIX = "agentrt-run-"

_NEW = f".{_PREFIX}"
"""The prefix of a runtime directory that is not locked yet."""

_DEPTH = 100
"""Number of levels that are removed at once where there are too many."""

_NAME = re.compile(rf"{_PREFIX}([0-9a-f]{{12}})")
"""Only such a name counts: anybody may make a directory that ends with the name of a living owner."""

_NEW_SECONDS = 60.0
"""Age after which a directory under that prefix was left by a process that died while it made it."""


class RuntimeDirectory:
    """A directory for temporary files. It is there while it is held, or has any.

    It is in `root`, which must exist (None: the directory for temporary files).
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self._root = root
        self._name, self._pid, self._lock, self._held = "", 0, -1, 0
        self._directories = set[str]()
        self._alone = threading.RLock()  # a finalizer may run while it is held

    @property
    def name(self) -> str:
        """Its name, also before it is made. A process that was forked has one of its own."""
        if self._pid != os.getpid():
            with self._alone:
                if self._pid != os.getpid():
                    self._name, self._lock, self._held, self._directories = secrets.token_hex(6), -1, 0, set()
                    self._pid = os.getpid()  # last: another thread may look at it meanwhile
        return self._name

    @property
    def path(self) -> str:
        """Its path."""
        return f"{self._root or tempfile.gettempdir()}/{_PREFIX}{self.name}"

    def hold(self) -> None:
        """Make it if it is not there, and keep it until `release`. For a thread. Raises `OSError`."""
        path = self.path
        with self._alone:
            if self._lock < 0 or not os.path.isdir(path):  # something that tidies up may have removed it
                if self._lock >= 0:
                    os.close(self._lock)
                    self._lock = -1
                self._lock = _made(path)
            self._held += 1

    def release(self) -> None:
        """Undo a `hold`; the last one removes the directory. For a thread."""
        with self._alone:
            self._held = max(self._held - 1, 0)
            if self._held == 0 and self._lock >= 0:
                with suppress(OSError):  # something in it could not be removed: the next start tries again
                    os.rmdir(self.path)
                os.close(self._lock)
                self._lock = -1

    def directory(self, prefix: str) -> str:
        """Return the path of a new private directory in it, to be removed by `remove`. For a thread."""
        self.hold()
        try:
            made = tempfile.mkdtemp(prefix=prefix, dir=self.path)
        except BaseException:
            self.release()
            raise
        self._directories.add(made)
        return made

    @asynccontextmanager
    async def temporary(self, prefix: str) -> AsyncIterator[str]:
        """Provide a new private directory in it, which is removed afterwards. Any task may leave it."""
        made = await anyio.to_thread.run_sync(self.directory, prefix)
        try:
            yield made
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.remove, made)

    def remove(self, directory: str | Path) -> None:
        """Remove what `directory` has made, as far as it can be removed; do nothing the second time. For a thread."""
        with self._alone:
            there = str(directory) in self._directories
            self._directories.discard(str(directory))
        if there:
            remove_tree(directory)
            self.release()


class Ownerless:
    """A runtime directory whose owner has died. Until it is closed, nobody else removes it."""

    def __init__(self, path: str, lock: int) -> None:
        self._path, self._lock = path, lock
        found = _NAME.fullmatch(os.path.basename(path))
        self.name = found[1] if found else ""
        """Its name in the environment of what its owner had started; "" if it was never used as one."""

    def remove(self) -> None:
        """Remove it with all that is in it, as far as that is possible. For a thread."""
        remove_tree(self._path)

    def close(self) -> None:
        """Let others look at it again. The second call does nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_tree(path: str | Path) -> None:
    """Remove a directory with all that is in it, as far as that is possible, also if it is deeper than Python's stack:
    programs may have made what is in it. For a thread.
    """
    while True:
        try:
            shutil.rmtree(path, ignore_errors=True)
            break
        except RecursionError:
            try:
                top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    _flatten(top)
                finally:
                    os.close(top)
            except OSError:
                break


def _flatten(top: int) -> None:
    """Move the directories that are `_DEPTH` below a directory into it. Raises `OSError`."""
    for where, names, _, above in os.fwalk(".", dir_fd=top):
        if where.count("/") >= _DEPTH:
            for name in names:
                os.rename(name, secrets.token_hex(8), src_dir_fd=above, dst_dir_fd=top)
            names.clear()


def ownerless(root: str | Path | None = None) -> Iterator[Ownerless]:
    """Yield the runtime directories in `root` of this user whose owners have died. For a thread."""
    with suppress(OSError), os.scandir(root or tempfile.gettempdir()) as entries:
        for entry in [entry for entry in entries if entry.name.startswith((_PREFIX, _NEW))]:
            with suppress(OSError):  # its owner lives, or removes it in this moment
                there = entry.stat(follow_symlinks=False)
                making = entry.name.startswith(_NEW) and time.time() - there.st_mtime < _NEW_SECONDS
                if there.st_uid == os.geteuid() and not making:
                    yield Ownerless(entry.path, _locked(entry.path))


def _made(path: str) -> int:
    """Make a runtime directory, and return its lock. It has its name only once it is locked."""
    new = f"{os.path.dirname(path)}/{_NEW}{secrets.token_hex(6)}"
    os.mkdir(new, 0o700)
    try:
        lock = _locked(new)
        try:
            os.rename(new, path)
        except BaseException:
            os.close(lock)
            raise
    except BaseException:
        os.rmdir(new)
        raise
    return lock


def _locked(path: str) -> int:
    """Lock a directory itself, since programs that tidy up (systemd-tmpfiles(8)) leave a locked one alone.

    Raises `OSError`.
    """
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(lock)
        raise
    return lock


runtime_directory = RuntimeDirectory()
"""That of this process. All runtimes in it share it, because they die together."""
