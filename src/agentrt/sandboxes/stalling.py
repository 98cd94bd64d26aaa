"""Seeing that a process waits for what may never come, as one that opens a pipe which nobody writes to."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import psutil

STALLED_SECONDS = 3.0
"""After this long without work a process is stalled."""

LOOK_SECONDS = 0.1
"""How often it is looked at."""

BUSY = 0.05
"""The share of a CPU that threads take which only look for work again and again."""

SLEEPS = "S"
"""The state of a thread that waits, but not for a disk or a CPU (proc(5), /proc/pid/task/tid/stat)."""


async def stalled(pid: int, seconds: float = STALLED_SECONDS) -> None:
    """Returns once a process has done nothing for so long: no thread of it ran, wanted to, or waited for a disk.

    It never returns where that cannot be told, as for a process that has ended.
    """
    since, used, awake, looks = time.monotonic(), _used(pid), 0, 0
    while True:
        await anyio.sleep(LOOK_SECONDS)
        looks, awake = looks + 1, awake + _awake(pid)
        now = _used(pid)
        if awake > max(1, looks * BUSY * 2) or now - used > BUSY * seconds:
            since, used, awake, looks = time.monotonic(), now, 0, 0
        elif time.monotonic() - since >= seconds and looks > 1:
            return


def _used(pid: int) -> float:
    """Seconds of CPU that it has taken."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return time.monotonic()  # which only grows
    return float(times.user + times.system)


def _awake(pid: int) -> bool:
    """Whether a thread of it does anything but wait; so it is where that cannot be seen."""
    try:
        threads = [task.joinpath("stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return True
    return any(thread.rpartition(")")[2].split()[:1] != [SLEEPS] for thread in threads)
