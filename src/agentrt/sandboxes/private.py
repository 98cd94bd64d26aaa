"""`PrivateFiles`: the directories of this machine that the programs of one conversation have for themselves."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Sequence

from ..scratch import runtime_directory
from .mounts import Shown


class PrivateFiles:
    """A home, temporary files, and what a tool gives to programs; made once they are needed. All is for a thread."""

    def __init__(self, prefix: str, temporary: int) -> None:
        """`temporary` is the mode of the directory for temporary files."""
        self._prefix, self._modes = prefix, {"home": 0o700, "tmp": temporary, "given": 0o700, "written": 0o700}
        self._lock = threading.Lock()
        self._made = ""

    @property
    def path(self) -> str:
        """The directory that has them: `home`, `tmp`, `given` and `written`, see `Shown`."""
        with self._lock:
            if not self._made:
                made = runtime_directory.directory(self._prefix)
                for name, mode in self._modes.items():
                    os.mkdir(f"{made}/{name}")
                    os.chmod(f"{made}/{name}", mode)
                self._made = made
            return self._made

    def shown(self, workspace: str, hidden: Sequence[str], caches: Sequence[str]) -> Shown:
        """Return what is shown besides the system: a workspace, these files, and caches."""
        home, temporary, given, written = (f"{self.path}/{name}" for name in self._modes)
        return Shown(workspace, home, temporary, given, written, hidden=tuple(hidden), caches=tuple(caches))

    def directory(self, prefix: str, *, writable: bool) -> str:
        """Make a directory that programs see, and write if it is `writable`; return its path. Raises `OSError`."""
        return tempfile.mkdtemp(prefix=prefix, dir=f"{self.path}/{'written' if writable else 'given'}")

    def remove(self) -> None:
        """Remove all of them. May be called twice."""
        with self._lock:
            made, self._made = self._made, ""
        if made:
            runtime_directory.remove(made)
