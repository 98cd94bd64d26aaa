"""Which processes are taken for stalled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from agentrt.sandboxes.here import THIS_MACHINE
from agentrt.sandboxes.programs import Stuck, printed
from agentrt.sandboxes.stalling import stalled

pytestmark = pytest.mark.real

ALWAYS_AT_IT = "import time\nwhile True: sum(range(10_000))"

LOOKS_FOR_WORK = "import time\nwhile True: time.sleep(0.005)"


async def seen(command: list[str], directory: Path, within: float, seconds: float = 0.5) -> bool:
    """Whether a program is taken for stalled in so many seconds."""
    try:
        await printed(
            THIS_MACHINE,
            command,
            cwd=str(directory),
            environment={},
            seconds=within,
            most=1 << 20,
            watched=lambda pid: stalled(pid, seconds),
        )
    except Stuck:
        return True
    except TimeoutError:
        return False
    pytest.fail("it has ended")


async def test_one_that_opens_a_pipe_that_nobody_writes_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert await seen(["cat", "pipe"], tmp_path, 20)


@pytest.mark.long
async def test_one_that_only_looks_for_work_on_a_busy_machine(tmp_path: Path) -> None:
    others = [subprocess.Popen([sys.executable, "-c", ALWAYS_AT_IT]) for _ in range(4 * (os.cpu_count() or 1))]
    try:
        assert await seen([sys.executable, "-c", LOOKS_FOR_WORK], tmp_path, 20)
    finally:
        for other in others:
            other.kill()
            other.wait()


async def test_one_that_works(tmp_path: Path) -> None:
    assert not await seen([sys.executable, "-c", ALWAYS_AT_IT], tmp_path, 3, 1.5)


async def test_one_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        said = await printed(
            THIS_MACHINE,
            ["echo", "a"],
            cwd=str(tmp_path),
            environment={},
            seconds=60,
            most=9,
            watched=lambda pid: stalled(pid, 30),
        )
    assert said.output == b"a\n"
