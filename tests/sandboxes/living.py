"""Whether a process still runs, and waiting until one does."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from tests.proofs.waiting import eventually


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not collected does not."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def lives_inside(pid: int) -> bool:
    """Whether a process runs that has this number in a box of this process."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error, OSError):
            status = Path(f"/proc/{process.pid}/status").read_text()
            numbers = next(line.split() for line in status.splitlines() if line.startswith("NSpid"))
            if numbers[2:] == [str(pid)] and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def is_held(path: Path) -> bool:
    """Whether a process, in whichever box, holds a lock (flock(2)) of a file; it makes one if there is none."""
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


async def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Return once `condition` holds. Fails when it does not in time."""
    await eventually(condition, "what was waited for", seconds)


def runs(name: str) -> bool:
    """Whether a program of that name runs below this process."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # one that has ended meanwhile
            if process.name() == name:
                return True
    return False
