"""Each descriptor is closed once, by its owner: closed twice, it may be another thread's by then."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import process_worker
from .system_calls import why_not

pytestmark = [pytest.mark.long, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

PROJECT = Path(__file__).parent.parent.parent
SECONDS = 300

_STARTED = re.compile(r"(\d+) +(?:clone3?\(.*|<\.\.\. clone3? resumed>.*) = (\d+)$")
_CLONING = re.compile(r"(\d+) +clone3?\(.*")
_CLOSED_TWICE = re.compile(r"(\d+) +.*close.* = -1 EBADF")


def own_lines(trace: str) -> Iterator[str]:
    """The lines of a trace that are of the first process: of its first thread, and of the threads that it started."""
    lines = trace.splitlines()
    threads, cloning = {lines[0].split()[0]}, dict[str, bool]()
    for line in lines:
        pid = line.split()[0]
        if pid not in threads:
            continue
        if _CLONING.match(line):
            cloning[pid] = "CLONE_THREAD" in line
        if (started := _STARTED.match(line)) and cloning[pid]:
            threads.add(started[2])
        yield line


def test_the_lines_of_one_process() -> None:
    trace = (
        "1 clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 2\n1 clone(flags=CLONE_VM|CLONE_VFORK <unfinished ...>\n"
        "3 close(9) = -1 EBADF (Bad file descriptor)\n1 <... clone resumed>) = 3\n"
        "2 close(9 <unfinished ...>\n2 <... close resumed>) = -1 EBADF (Bad file descriptor)"
    )
    assert [line for line in own_lines(trace) if _CLOSED_TWICE.match(line)] == [trace.splitlines()[-1]]


def test_every_tool_that_starts_processes_closes_each_descriptor_once(tmp_path: Path) -> None:
    store, workspace, trace = tmp_path / "store", tmp_path / "workspace", tmp_path / "trace"
    workspace.mkdir()
    program = [sys.executable, "-m", process_worker.__name__, str(store), str(workspace)]
    strace = ["strace", "-f", "--seccomp-bpf", "-e", "trace=close,clone,clone3", "-o", str(trace)]
    subprocess.run([*strace, *program], cwd=PROJECT, check=True, timeout=SECONDS)
    lines = list(own_lines(trace.read_text()))
    assert sum("close(" in line for line in lines) > 1000  # it was seen at work
    assert [line for line in lines if _CLOSED_TWICE.match(line)] == []
