"""Finding and ending all that a command started, also what left its process group or its session."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

import anyio
import anyio.to_thread
import psutil

TERM_AFTER = 0.1
KILL_AFTER = 0.5
"""Seconds from one signal of the escalation to the next."""


def started_by(shell: int, mark: str, since: float) -> list[psutil.Process]:
    """The processes below `shell` that began after `since` (Unix seconds), and all whose environment has `mark`.

    The second finds what was detached from the shell. For a thread: it reads /proc.
    """
    found: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(shell).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if child.create_time() >= since - 0.02:
                    found[child.pid] = child
    for process in _marked(mark.encode()):
        found[process.pid] = process
    found.pop(shell, None)
    return list(found.values())


def _marked(mark: bytes) -> Iterator[psutil.Process]:
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    yield psutil.Process(pid)


async def end(shell: int, mark: str, since: float) -> tuple[str, ...]:
    """End what `started_by` finds: INT was sent before, then TERM, then KILL. Returns the signals that were needed."""
    sent: list[str] = []
    for number, wait in ((signal.SIGTERM, KILL_AFTER), (signal.SIGKILL, 1.0)):
        alive = await anyio.to_thread.run_sync(started_by, shell, mark, since)
        if not alive:
            break
        sent.append(number.name)
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)
        await anyio.to_thread.run_sync(psutil.wait_procs, alive, wait)
    return tuple(sent)
