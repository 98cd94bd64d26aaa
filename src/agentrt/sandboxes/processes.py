"""Finding and ending all that a command started, also what left its process group or its session."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
import psutil

TERM_AFTER = 0.1
KILL_AFTER = 0.5
"""Seconds from one signal of the escalation to the next."""

CONVERSATION = "AGENTRT_CONVERSATION"
"""The variable that names the conversation in the environment of what it starts."""

_ESCALATION = ((signal.SIGTERM, KILL_AFTER), (signal.SIGKILL, 0.5), (signal.SIGKILL, 0.5))
"""KILL twice: the second is for what was started in between."""

_LOOKS = 100
"""How often a process is looked at, a millisecond apart, that shows neither environment nor arguments (proc(5))."""

_SETTLED = 3
"""Looks at arguments without an environment until there is none: the kernel sets the arguments first."""

_LISTS = 20
"""How often the processes are listed at most, each time for those that came meanwhile."""

_OF_THE_KERNEL = 0x200000
"""The flag PF_KTHREAD of a thread of the kernel, which has no environment to wait for. Its session says nothing: it is
0 as well for a process whose session began outside its PID namespace, as in a container."""

_TICKS = os.sysconf("SC_CLK_TCK")


class _Process(NamedTuple):
    parent: int
    session: int
    began: int
    """In ticks since boot; psutil's Unix time is up to a second off."""
    environment: list[bytes]


def children(pid: int) -> frozenset[int]:
    """The processes whose parent is `pid` (proc(5), /proc/pid/task/tid/children); none if the kernel does not tell."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return frozenset(map(int, file.read().split()))
    except OSError:
        return frozenset()


def descendants(pid: int, most: int) -> int:
    """How many processes are below `pid`, counted up to `most`; those whose parent has ended are not among them."""
    todo, found = [pid], 0
    while todo and found < most:
        below = children(todo.pop())
        found += len(below)
        todo.extend(below)
    return min(found, most)


def started_by(shell: int, mark: str, since: float, earlier: frozenset[int] = frozenset()) -> list[psutil.Process]:
    """All that a command started: what of the shell's session began after `since` (seconds of CLOCK_BOOTTIME), what has
    `mark` in its environment, and what is below either.

    The session finds what the shell forked and did not execute, the mark what left the session; a shell that adopts
    orphans has also those below it that have neither. What an older process
    of the session started, or what has the mark of another command, is not among them; nor are `earlier`, which began
    in the same tick of the kernel's clock. For a thread: it reads /proc.
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
    """All processes that have not ended (proc(5), /proc/pid/stat and environ).

    One that forks and ends while the others are read would be missed together with its child: the list is made again
    until nothing in it is new.
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
    """The environment of a process, none of another user's. While it replaces its program it shows nothing at all."""
    settled = 0
    with contextlib.suppress(OSError):
        for _ in range(_LOOKS):
            settled += bool(_read(f"/proc/{pid}/cmdline"))  # before the environment, which may come in between
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
    """Wait for an end, also one that nobody collects, as psutil's own wait does not. For a thread."""
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
    """End what `started_by` finds, and `also`: INT was sent before, then TERM, then KILL. Returns the signals that were
    needed.
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
    """Whether a process ignores a signal (proc(5), SigIgn); one that is gone does not."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    ignored = next((line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")), "0")
    return bool(int(ignored, 16) >> (number - 1) & 1)


def process_mark(created: str, store: str) -> str:
    """What names a conversation in the environment of its processes: the id of its first event, and its store, since a
    copy of that may be opened while the conversation is at work.
    """
    return f"{created}-{sha256(store.encode(errors='surrogateescape')).hexdigest()[:12]}"


async def end_left(conversation: str) -> bool:
    """End what a conversation started in a process that died; whether nothing of it was found any more.

    It is found by its environment, and below what is found so: no shell adopts it any more.
    """
    mark = f"{CONVERSATION}={conversation}"
    sent = await end(_NO_SHELL, mark, 0.0)
    return not sent or not await anyio.to_thread.run_sync(started_by, _NO_SHELL, mark, 0.0)


_NO_SHELL = -1
"""What no process has as its parent or its session."""
