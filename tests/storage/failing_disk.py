"""`FailingDisk`: a real disk whose writes or syncs fail while a test says so."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from agentrt.storage.disk import Disk


class FailingDisk(Disk):
    """The real system calls. While it is `full`, a write takes half of what it gets once, then fails with ENOSPC; while
    it is `broken`, syncs fail with EIO. The data of a failed sync stays visible to readers, as on Linux.
    """

    def __init__(self) -> None:
        self.full = self.broken = False
        self._half = True

    @contextmanager
    def failing(self, kind: str) -> Iterator[None]:
        """Fail in this way during the body: "full" or "broken"."""
        setattr(self, kind, True)
        self._half = True
        try:
            yield
        finally:
            setattr(self, kind, False)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.full:
            if self._half and len(data) > 1:
                self._half = False
                return super().write(descriptor, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        self._check()
        super().sync(descriptor)

    def sync_file_system(self, descriptor: int) -> None:
        self._check()
        super().sync_file_system(descriptor)

    def _check(self) -> None:
        if self.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
