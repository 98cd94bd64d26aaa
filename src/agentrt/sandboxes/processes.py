"""Finds and ends all processes that a command started, even if they left its process group or its session; finds the
ports on which those of a conversation listen.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from secrets import token_hex
from typing import Protocol

import anyio
import anyio.to_thread
import psutil
from anyio.abc import TaskGroup

from ..scratch import RUNTIME, Ownerless, ownerless, runtime_directory

TERM_AFTER = 0.1
KILL_AFTER = 0.5
"""Seconds from one signal of the escalation to the next."""

CONVERSATION = "AGENTRT_CONVERSATION"
"""The environment variable that names the conversation in the processes that it starts."""

_ESCALATION = ((signal.SIGTERM, KILL_AFTER), (signal.SIGKILL, 0.5), (signal.SIGKILL, 0.5))
"""KILL twice: the second is for processes that were started in between."""


def started_by(shell: int, mark: str, since: float, earlier: frozenset[int] = frozenset()) -> list[psutil.Process]:
    """Return what `process_table.started_by` finds. For a thread."""
    from . import process_table  # where a process is started

    return list(_handles(process_table.started_by(shell, mark, since, earlier)))


async def is_alone(pid: int) -> bool:
    """Stop a process, and return whether it has no children then. If it adopts orphans, nothing that it has started is
    left, and nothing more can begin: no other process need be looked at. False if it does not stop, has ended, or has
    several threads, each of which has children of its own.
    """
    from .process_table import LOOKS, read

    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGSTOP)
        for _ in range(LOOKS):
            fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            state, threads = fields[0], int(fields[17])
            if state in b"tT":
                return threads == 1 and not read(f"/proc/{pid}/task/{pid}/children")  # not every kernel has it
            if state in b"ZX":
                break
            await anyio.sleep(0.001)
    return False


def _handles(pids: set[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            yield psutil.Process(pid)


def _ended(process: psutil.Process) -> bool:
    try:
        return process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return True


def _await_end(processes: list[psutil.Process], seconds: float) -> None:
    """Wait until processes have ended. Zombies count as ended, which psutil's own wait does not do. For a thread."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not all(map(_ended, processes)):
        time.sleep(0.01)


async def end(
    shell: int,
    mark: str,
    since: float,
    earlier: frozenset[int] = frozenset(),
    also: Sequence[psutil.Process] = (),
) -> tuple[str, ...]:
    """End the processes that `started_by` finds, and `also`: by TERM, then by KILL (INT was sent before). Return the
    signals that were needed.
    """
    sent: dict[str, None] = {}
    for number, wait in _ESCALATION:
        alive = await anyio.to_thread.run_sync(started_by, shell, mark, since, earlier)
        alive += [process for process in also if process not in alive and not _ended(process)]
        if not alive:
            break
        sent[number.name] = None
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)
        await anyio.to_thread.run_sync(_await_end, alive, wait)
    return tuple(sent)


def new_mark() -> str:
    """Return a variable with its value, for the environment of a process and of all that it starts, that tells them
    from others.
    """
    return f"AGENTRT_PROCESS={token_hex(8)}-1"


def process_mark(created: str, store: str) -> str:
    """Return the name of a conversation in the environment of its processes: the id of its first event, with a digest
    of its store, because a copy of the store may be opened while the conversation is at work.
    """
    return f"{created}-{sha256(store.encode(errors='surrogateescape')).hexdigest()[:12]}"


async def end_left(conversation: str) -> bool:
    """End what a conversation started in a process that died; return whether nothing of it is left.

    The processes are found by their environment, and below those found: there is no shell any more that adopts them.
    """
    mark = f"{CONVERSATION}={conversation}"
    sent = await end(_NO_SHELL, mark, 0.0)
    return not sent or not await anyio.to_thread.run_sync(started_by, _NO_SHELL, mark, 0.0)


class HasTasks(Protocol):
    """What has a task group."""

    @property
    def tasks(self) -> TaskGroup:
        """Its task group, which outlives the files."""
        ...


@asynccontextmanager
async def runtime_files(there: HasTasks) -> AsyncIterator[None]:
    """Keep the runtime directory of this process. In a task, clean up after processes that were killed."""
    left = await anyio.to_thread.run_sync(_held)
    try:
        if left:
            there.tasks.start_soon(end_ownerless, left)
        yield
    finally:
        for one in left:
            one.close()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(runtime_directory.release)


def _held() -> Sequence[Ownerless]:
    with contextlib.suppress(OSError):  # the first tool that needs it says so
        runtime_directory.hold()
    return list(ownerless())


async def end_ownerless(left: Iterable[Ownerless]) -> None:
    """End what killed processes of agentrt had started, and remove their temporary files. Another process that looks at
    the same time leaves these to this one.
    """
    for one in left:
        try:
            mark = f"{RUNTIME}={one.name}"
            found = await anyio.to_thread.run_sync(started_by, _NO_SHELL, mark, 0.0) if one.name else []
            if any(process.pid == os.getpid() for process in found):
                continue  # this process was started in the shell of the one that died
            if found:
                await end(_NO_SHELL, mark, 0.0)
            await anyio.to_thread.run_sync(one.remove)
        finally:
            one.close()


_NO_SHELL = -1
"""An id that no process has as its parent or its session."""


def listening(ports: Iterable[int], mark: str) -> frozenset[int]:
    """Return those of `ports` on which processes of a conversation listen, and no other process. For a thread.

    A process belongs to the conversation if its environment names it (`process_mark`). A process of another user cannot
    be looked at, so it belongs to none.
    """
    wanted, owners = frozenset(ports), defaultdict[int, set[int | None]](set)
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port in wanted:
                owners[connection.laddr.port].add(connection.pid)
    except (psutil.Error, OSError):  # the system does not tell
        return frozenset()
    return frozenset(port for port, pids in owners.items() if all(_belongs(pid, mark) for pid in pids))


def _belongs(pid: int | None, mark: str) -> bool:
    try:
        return pid is not None and psutil.Process(pid).environ().get(CONVERSATION) == mark
    except (psutil.Error, OSError):
        return False
