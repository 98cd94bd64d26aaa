"""Detects a process that makes no progress, for example because it has opened a pipe that nobody writes to."""

from __future__ import annotations

import os
import time
from pathlib import Path

import anyio

from .process_table import below

STALLED_SECONDS = 3.0
"""Seconds without work after which a process is stalled."""

LOOK_SECONDS = 0.1
"""Seconds between two looks at the process."""

BUSY = 0.05
"""Maximum fraction of a CPU that a thread of a stalled process takes. A thread that only polls for work takes less."""

WAITS_FOR_DISK = "D"
"""The state of a thread that waits for a disk (proc(5), /proc/pid/task/tid/stat)."""

_TICKS = os.sysconf("SC_CLK_TCK")


async def stalled(pid: int, seconds: float = STALLED_SECONDS) -> None:
    """Return once a process has been idle for `seconds`: no thread took more than `BUSY` of a CPU or waited for a disk.

    Waiting for a CPU is no sign of work: on a busy machine, threads that only poll for work wait for it, too. Never
    returns if no thread is visible, as for a process that has ended.
    """
    since, before = time.monotonic(), _threads(pid)
    while True:
        await anyio.sleep(LOOK_SECONDS)
        now = _threads(pid)
        used = [taken - before.get(thread, (0.0, ""))[0] for thread, (taken, _) in now.items()]
        waits = any(state == WAITS_FOR_DISK for _, state in now.values())
        if not now or waits or max(used) > BUSY * seconds:
            since, before = time.monotonic(), now
        elif time.monotonic() - since >= seconds:
            return


def _threads(pid: int) -> dict[str, tuple[float, str]]:
    """Return the threads of a process and of those below it: the CPU seconds that each has taken, and its state. What
    starts a program behind a wall waits for it.
    """
    found = dict[str, tuple[float, str]]()
    try:
        for task in (task for one in (pid, *below(pid)) for task in Path(f"/proc/{one}/task").iterdir()):
            state, *rest = (task / "stat").read_text().rpartition(")")[2].split()
            found[task.name] = ((int(rest[10]) + int(rest[11])) / _TICKS, state)
    except (OSError, ValueError, IndexError):
        return {}
    return found
