"""The processes of a machine, and those that a command started (proc(5)).

It needs nothing but Python 3.9: `by_command` sends its source to other machines. All functions are for a thread.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

LOOKS = 100
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
    return sum(1 for _ in itertools.islice(below(pid), most))


def below(pid: int) -> Iterator[int]:
    """Yield the processes below `pid`, without those whose parent has ended."""
    todo = [pid]
    while todo:
        found = children(todo.pop())
        yield from found
        todo.extend(found)


def started_by(shell: int, mark: str, since: float, earlier: frozenset[int] = frozenset()) -> set[int]:
    """Return all processes that a command started: those of the shell's session that began after `since` (seconds of
    CLOCK_BOOTTIME), those with `mark` in their environment, and those below either.

    The session finds processes that the shell forked without executing a program; the mark finds processes that left
    the session. If the shell adopts orphans, those with neither are found as its children. Excluded are processes that
    an older process of the session started, those with the mark of another command, and those in `earlier`, which may
    have begun in the same tick of the kernel's clock.
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
    return found


def _processes() -> Iterator[tuple[int, _Process]]:
    """Yield all processes that have not ended (proc(5), /proc/pid/stat and environ).

    If a process forks and ends while the others are read, its child would be missed. So the processes are listed again
    until none is new.
    """
    seen: set[int] = set()
    for _ in range(_LISTS):
        new = set(map(int, filter(str.isdecimal, os.listdir("/proc")))) - seen
        if not new:
            return
        seen |= new
        for pid in sorted(new):
            with contextlib.suppress(OSError):
                state, *fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
                parent, session, flags, began = (int(fields[at]) for at in (0, 2, 5, 18))
                if state not in b"ZX" and not flags & _OF_THE_KERNEL:
                    yield pid, _Process(parent, session, began, _environment(pid))


def _environment(pid: int) -> list[bytes]:
    """Return the environment of a process; empty for another user's. While it replaces its program it shows nothing."""
    settled = 0
    with contextlib.suppress(OSError):
        for _ in range(LOOKS):
            settled += bool(read(f"/proc/{pid}/cmdline"))  # read first: the environment may come in between
            if environment := read(f"/proc/{pid}/environ"):
                return environment.split(b"\0")
            if settled == _SETTLED:
                break
            time.sleep(0.001)
    return []


def read(path: str) -> bytes:
    """Return the content of a file. Raises `OSError`."""
    with open(path, "rb") as file:
        return file.read()


def ignores(pid: int, number: int) -> bool:
    """Return whether a process ignores a signal (proc(5), SigIgn); False for a process that is gone."""
    try:
        status = read(f"/proc/{pid}/status")
    except OSError:
        return False
    ignored = next((line.split()[1] for line in status.splitlines() if line.startswith(b"SigIgn:")), b"0")
    return bool(int(ignored, 16) >> (number - 1) & 1)
