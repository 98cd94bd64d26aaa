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
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple, Protocol

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

_LOOKS = 100
"""Maximum number of looks, a millisecond apart, at a process that shows no environment (proc(5)), or is to stop."""

_SETTLED = 3
"""Number of looks that find arguments but no environment, after which it is taken to be empty: the kernel sets the
arguments first."""

_LISTS = 20
"""Maximum number of times that the processes are listed, each time for those that came meanwhile."""

_OF_THE_KERNEL = 0x200000
"""The flag PF_KTHREAD of a kernel thread, which has no environment to wait for. Its session 0 does not identify it: a
process whose session began outside its PID namespace, as in a container, has session 0, too."""

_TICKS = os.sysconf("SC_CLK_TCK")


class _Process(NamedTuple):
    parent: int
    session: int
    began: int
    """In ticks since boot; psutil's Unix time is up to a second off."""
    environment: list[bytes]


def children(pid: int) -> frozenset[int]:
    """Return the processes whose parent is `pid` (proc(5), /proc/pid/task/tid/children); none if that is not there."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return frozenset(map(int, file.read().split()))
    except OSError:
        return frozenset()


def descendants(pid: int, most: int) -> int:
    """Return the number of processes below `pid`, counted up to `most`, without those whose parent has ended."""
    todo, found = [pid], 0
    while todo and found < most:
        below = children(todo.pop())
        found += len(below)
        todo.extend(below)
    return min(found, most)


async def is_alone(pid: int) -> bool:
    """Stop a process, and return whether it has no children then. If it adopts orphans, nothing that it has started is
    left, and nothing more can begin: no other process need be looked at. False if it does not stop, has ended, or has
    several threads, each of which has children of its own.
    """
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGSTOP)
        for _ in range(_LOOKS):
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            state, threads = fields[0], int(fields[17])
            if state in b"tT":
                return threads == 1 and not _read(f"/proc/{pid}/task/{pid}/children")  # not every kernel has it
            if state in b"ZX":
                break
            await anyio.sleep(0.001)
    return False


def started_by(shell: int, mark: str, since: float, earlier: frozenset[int] = frozenset()) -> list[psutil.Process]:
    """Return all processes that a command started: those of the shell's session that began after `since` (seconds of
    CLOCK_BOOTTIME), those with `mark` in their environment, and those below either.

    The session finds processes that the shell forked without executing a program; the mark finds processes that left
    the session. If the shell adopts orphans, those with neither are found as its children. Excluded are processes that
    an older process of the session started, those with the mark of another command, and those in `earlier`, which may
    have begun in the same tick of the kernel's clock. For a thread: it reads /proc.
    """
    table, first, own = dict(_processes()), int(since * _TICKS), mark.encode()
    others = own[: own.rfind(b"-") + 1] or b"\0"
    below: defaultdict[int, list[int]] = defaultdict(list)
    todo: list[int] = []
    for pid, process in table.items():
        below[process.parent].append(pid)
        above = table.get(process.parent)
        top = process.session == shell and (above is None or above.session != shell)
        if top or process.parent == shell or own in process.environment:
            todo.append(pid)
    found: set[int] = set()
    while todo:
        pid = todo.pop()
        began, environment = table[pid].began, table[pid].environment
        other = began < first or pid in earlier or any(entry.startswith(others) for entry in environment)
        if pid != shell and pid not in found and (own in environment or not other):
            found.add(pid)
            todo.extend(below[pid])
    return list(_handles(found))


def _processes() -> Iterator[tuple[int, _Process]]:
    """Yield all processes that have not ended (proc(5), /proc/pid/stat and environ).

    If a process forks and ends while the others are read, its child would be missed. So the processes are listed again
    until none is new.
    """
    seen: set[int] = set()
    for _ in range(_LISTS):
        new = set(psutil.pids()) - seen
        if not new:
            return
        seen |= new
        for pid in sorted(new):
            with contextlib.suppress(OSError):
                state, *fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
                parent, session, flags, began = (int(fields[at]) for at in (0, 2, 5, 18))
                if state not in b"ZX" and not flags & _OF_THE_KERNEL:
                    yield pid, _Process(parent, session, began, _environment(pid))


def _environment(pid: int) -> list[bytes]:
    """Return the environment of a process; empty for another user's. While it replaces its program it shows nothing."""
    settled = 0
    with contextlib.suppress(OSError):
        for _ in range(_LOOKS):
            settled += bool(_read(f"/proc/{pid}/cmdline"))  # read first: the environment may come in between
            if environment := _read(f"/proc/{pid}/environ"):
                return environment.split(b"\0")
            if settled == _SETTLED:
                break
            time.sleep(0.001)
    return []


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


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


def ignores(pid: int, number: int) -> bool:
    """Return whether a process ignores a signal (proc(5), SigIgn); False for a process that is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    ignored = next((line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")), "0")
    return bool(int(ignored, 16) >> (number - 1) & 1)


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
