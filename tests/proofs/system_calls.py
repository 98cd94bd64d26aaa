"""What strace saw of a process: its writes and syncs of files, in their order."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

STRACE = ("strace", "-f", "-ttt", "-y", "-s", "0", "-e", "trace=write,fdatasync,fsync,syncfs")

SLOW_SYNCS = "inject=fdatasync,fsync,syncfs:delay_enter=4000"
"""Each sync takes 4 ms (4,000 us) more: what does not wait for it comes before its end."""

_WHOLE = re.compile(r"(\d+) +[\d.]+ (\w+)\(\d+<([^>]*)>.*\) += (-?\d+)")
_BEGUN = re.compile(r"(\d+) +[\d.]+ (\w+)\(\d+<([^>]*)>.*<unfinished \.\.\.>")
_ENDED = re.compile(r"(\d+) +[\d.]+ <\.\.\. (\w+) resumed>.*\) += (-?\d+)")


class SystemCall(msgspec.Struct, frozen=True):
    """One call on a file; `begun` and `ended` are places in the trace, which is in the order of the stops."""

    name: str
    path: Path
    begun: int
    ended: int
    result: int


class Write(msgspec.Struct, frozen=True):
    """A call that wrote the bytes from `start` to `end` of an append-only file."""

    call: SystemCall
    start: int
    end: int


@cache
def why_not() -> str | None:
    """Why this machine cannot trace; None when it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run([*STRACE, "-e", SLOW_SYNCS, "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"strace does not work here: {tried.stderr.strip()}"


def parse(trace: str) -> list[SystemCall]:
    """The calls of a trace, by their begin; one that a thread switch has cut in two is joined."""
    calls: list[SystemCall] = []
    open_calls: dict[str, tuple[str, str, int]] = {}
    for place, line in enumerate(trace.splitlines()):
        if whole := _WHOLE.match(line):
            calls.append(SystemCall(whole[2], Path(whole[3]), place, place, int(whole[4])))
        elif begun := _BEGUN.match(line):
            open_calls[begun[1]] = (begun[2], begun[3], place)
        elif (ended := _ENDED.match(line)) and ended[1] in open_calls:
            name, path, since = open_calls.pop(ended[1])
            calls.append(SystemCall(name, Path(path), since, place, int(ended[3])))
    return sorted(calls, key=lambda call: call.begun)


def writes(calls: Sequence[SystemCall], path: Path, size: int = 0) -> Iterator[Write]:
    """The writes to a file that had `size` bytes, and what each wrote."""
    for call in calls:
        if call.path == path and call.name == "write":
            yield Write(call, size, size + call.result)
            size += call.result


def syncs(calls: Sequence[SystemCall], path: Path) -> list[SystemCall]:
    """The syncs of a file or directory that succeeded; `syncfs` is one of all that is on its file system."""

    def covers(call: SystemCall) -> bool:
        return call.name == "syncfs" or (call.name in ("fsync", "fdatasync") and call.path == path)

    return [call for call in calls if call.result == 0 and covers(call)]


def synced_after(calls: Sequence[SystemCall], path: Path) -> Callable[[int], int]:
    """By a place in the trace: the place where the first sync of `path` that began after it had ended."""
    done = syncs(calls, path)
    return lambda place: next(sync.ended for sync in done if sync.begun > place)
