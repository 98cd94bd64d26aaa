"""Processes, started without a copy of this one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import uvloop

from agentrt.sandboxes.spawning import spawned
from agentrt.sandboxes.starting import Started, opened, unconfined

pytestmark = pytest.mark.real

SECONDS = 20


async def said(process: Started) -> bytes:
    """All that it prints."""
    assert process.stdout is not None
    return b"".join([piece async for piece in process.stdout])


Ran = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=["asyncio", "uvloop"])
def ran(request: pytest.FixtureRequest) -> Ran:
    """Runs something on either event loop, with a limit of time."""
    runner = asyncio.run if request.param == "asyncio" else uvloop.run

    async def limited(made: Coroutine[Any, Any, None]) -> None:
        with anyio.fail_after(SECONDS):
            await made

    return lambda made: runner(limited(made))


def test_what_is_sent_to_a_program_and_what_it_says(ran: Ran) -> None:
    async def made() -> None:
        async with await opened(["/bin/sh", "-c", "cat; echo over >&2; exit 3"], begin=unconfined) as process:
            assert process.stdin is not None
            assert process.stderr is not None
            async with anyio.create_task_group() as tasks:

                async def send() -> None:
                    assert process.stdin is not None
                    for _ in range(40):
                        await process.stdin.send(b"x" * 100_000)
                    await process.stdin.aclose()

                tasks.start_soon(send)
                assert len(await said(process)) == 4_000_000
            assert await process.stderr.receive() == b"over\n"
            assert await process.wait() == 3
            assert process.returncode == 3

    ran(made())


def test_its_end_does_not_wait_for_who_holds_its_pipes(ran: Ran) -> None:
    async def made() -> None:
        process = await opened(["/bin/sh", "-c", "sleep 60 & echo $!"], begin=unconfined)
        assert process.stdout is not None
        other = int(await process.stdout.receive())
        assert await process.wait() == 0
        os.kill(other, signal.SIGKILL)
        await process.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await process.stdout.receive()

    ran(made())


def test_a_pipe_that_is_closed_as_it_becomes_readable(ran: Ran) -> None:
    async def made() -> None:
        for turn in range(60):
            process = await opened(["/bin/sh", "-c", "echo x"], stdin=subprocess.DEVNULL, begin=unconfined)
            async with anyio.create_task_group() as tasks:

                async def read(process: Started = process) -> None:
                    assert process.stdout is not None
                    with contextlib.suppress(anyio.ClosedResourceError, anyio.EndOfStream):
                        while True:
                            await process.stdout.receive()

                tasks.start_soon(read)
                await process.wait() if turn % 2 else await anyio.sleep(0)
                for _ in range(turn % 6):
                    await anyio.lowlevel.checkpoint()
                process.close_pipes()
            await process.wait()

    ran(made())


def test_all_who_wait_are_told_of_its_end(ran: Ran) -> None:
    async def made() -> None:
        process = await opened(["/bin/sleep", "60"], begin=unconfined)
        codes = list[int]()
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                codes.append(await process.wait())

            for _ in range(3):
                tasks.start_soon(wait)
            await anyio.sleep(0)
            assert process.returncode is None
            process.terminate()
        assert codes == [-signal.SIGTERM] * 3
        process.send_signal(signal.SIGKILL)  # which tells nobody, since it has ended
        await process.aclose()

    ran(made())


def test_closing_that_is_cancelled_kills_it(ran: Ran) -> None:
    async def made() -> None:
        process = await opened(["/bin/sleep", "60"], begin=unconfined)
        with anyio.move_on_after(0):
            await process.aclose()
        assert process.returncode == -signal.SIGKILL

    ran(made())


def test_starting_that_is_cancelled_leaves_a_handle(ran: Ran) -> None:
    async def made() -> None:
        started = list[Started]()
        with anyio.CancelScope() as scope:
            scope.cancel()
            started.append(await opened(["/bin/sleep", "60"], begin=unconfined))
            await anyio.sleep(0)
        assert len(started) == 1
        started[0].kill()
        await started[0].aclose()

    ran(made())


def test_starting_in_a_task_that_is_cancelled_leaves_no_process(ran: Ran) -> None:
    """A task of asyncio may be cancelled whatever the scopes around it say."""

    async def made() -> None:
        for delay in range(20):
            task = asyncio.create_task(opened(["/bin/sh", "-c", f"exec sleep {MARK}"], begin=unconfined))
            for _ in range(delay):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                started = await task
                started.kill()
                await started.aclose()
        while running(f"sleep\0{MARK}"):
            await anyio.sleep(0.01)

    ran(made())


MARK = "6123.75"


def running(command: str) -> list[str]:
    """The ids of processes with a command."""
    found = list[str]()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [path.parent.name] if command in path.read_text() else []
    return found


async def test_a_program_has_no_descriptor_but_its_streams() -> None:
    reads, writes = os.pipe()
    os.set_inheritable(writes, True)
    try:
        async with await opened(
            ["/bin/sh", "-c", "echo /proc/self/fd/*"], stdin=subprocess.DEVNULL, begin=unconfined
        ) as process:
            numbers = {int(path.rpartition("/")[2]) for path in (await said(process)).decode().split()}
    finally:
        os.close(reads)
        os.close(writes)
    assert numbers <= {0, 1, 2, 3}, "the third is that of the listing"


async def test_a_program_has_the_signals_that_python_ignores() -> None:
    async with await opened(["/bin/grep", "SigIgn", "/proc/self/status"], begin=unconfined) as process:
        ignored = int((await said(process)).split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1))


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
async def test_our_own_streams_may_be_those_of_a_program(name: str) -> None:
    """Whichever number each of them gets."""
    with open(os.devnull, "r+b") as nothing:
        given: dict[str, Any] = {"stdin": 1, "stdout": 2, "stderr": nothing, name: subprocess.PIPE}
        async with await opened(["/bin/sh", "-c", "exit 7"], **given, begin=unconfined) as process:
            assert await process.wait() == 7


def test_two_may_ask_for_its_end() -> None:
    for _ in range(20):
        begun = spawned(["/bin/true"], cwd=None, env={}, stdin=None, stdout=None, stderr=None)
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(begun.wait)
            while begun.poll() is None:
                pass
            assert waiting.result(SECONDS) == 0


def test_a_name_of_a_variable_has_no_equals_sign() -> None:
    with pytest.raises(ValueError, match="illegal environment variable"):
        spawned(["/bin/true"], cwd=None, env={"A=B": "c"}, stdin=None, stdout=None, stderr=None)


def test_a_program_is_found_from_the_directory_that_it_runs_in(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/program").write_text("#!/bin/sh\nexit 5\n")
    streams: dict[str, Any] = {"stdin": None, "stdout": None, "stderr": None}
    given = {"cwd": str(tmp_path), "env": {"PATH": "here"}, **streams}
    with pytest.raises(PermissionError):
        spawned(["program"], **given)
    (tmp_path / "here/program").chmod(0o755)
    assert spawned(["program"], **given).wait() == 5
    with pytest.raises(FileNotFoundError):
        spawned(["other"], **given)


def test_a_program_that_nobody_waits_for_is_no_zombie() -> None:
    begun = spawned(["/bin/true"], cwd="/", env={}, stdin=None, stdout=None, stderr=None)
    pid = begun.pid
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    del begun
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_a_program_that_is_gone_cannot_be_told_anything(ran: Ran) -> None:
    async def made() -> None:
        async with await opened(["/bin/true"], begin=unconfined) as process:
            await process.wait()
            assert process.stdin is not None
            with pytest.raises(anyio.BrokenResourceError):
                for _ in range(1000):
                    await process.stdin.send(b"x" * 100_000)
            await process.stdin.aclose()
            with pytest.raises(anyio.ClosedResourceError):
                await process.stdin.send(b"x")

    ran(made())


async def test_nothing_is_left_of_many() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        async with await opened(["/bin/echo", "x"], begin=unconfined) as process:
            assert await said(process) == b"x\n"
    assert len(os.listdir("/proc/self/fd")) <= before + 1


async def test_what_cannot_be_started_is_told(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError):
        await opened([str(tmp_path / "none")], begin=unconfined)
    with pytest.raises(FileNotFoundError):
        await opened(["/bin/true"], cwd=tmp_path / "none", begin=unconfined)
    with pytest.raises(ValueError, match="null byte"):
        await opened(["/bin/true", "\0"], begin=unconfined)


@contextmanager
def no_descriptor_is_left() -> Iterator[None]:
    """Have this process open nothing more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.pidfd_open(os.getpid())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_without_handles_of_processes_a_thread_waits() -> None:
    begun = subprocess.Popen([sys.executable, "-c", "print(1)"], bufsize=0, stdout=subprocess.PIPE)
    with no_descriptor_is_left():
        started = Started(begun)
    async with started as process:
        assert await said(process) == b"1\n"
        assert await process.wait() == 0


SOURCES = Path(__file__).parent.parent.parent / "src" / "agentrt"
OTHER_WAYS = re.compile(
    r"\b(?:run_process|open_process|create_subprocess_\w+|connect_(?:read|write)_pipe|Popen)\b[(\[]"
)


@pytest.mark.simulated
def test_there_is_one_way_to_start_a_process() -> None:
    """Others copy this process first, or close descriptors twice. The demo runs a test suite from the command line; the
    programs in a container and at the far end of a command are small, and have nothing else.
    """
    found = {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py") if OTHER_WAYS.search(path.read_text())}
    assert found == {"sandboxes/starting.py", "sandboxes/inside.py", "sandboxes/by_command/_far.py", "cli/demo.py"}
