"""The executor on this machine, without a container: the contract of places, and a hostile other side."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psutil
import pytest

from agentrt.errors import ToolError
from agentrt.placing import DEVNULL, AsyncFiles, Setting
from agentrt.sandboxes.asked import AskedFiles
from agentrt.sandboxes.executor import Executor
from agentrt.sandboxes.here import THIS_MACHINE, Here
from agentrt.sandboxes.inside import in_memory, receive, send
from agentrt.specs import LocalWorkspace

from .places import FILES, PROGRAMS, SECONDS, Check, said

pytestmark = pytest.mark.real


class Apart(Here):
    """This machine, by an executor."""

    def __init__(self, workspace: LocalWorkspace, executor: Executor) -> None:
        super().__init__(workspace, Setting(lambda function: None))
        self.executor = executor
        self._apart = AsyncFiles(AskedFiles(self._there, asyncio.get_running_loop()))

    async def _there(self) -> Executor:
        return self.executor

    @property
    def files(self) -> Any:
        """Those of the executor."""
        return self._apart

    async def run(self, command: Any, **given: Any) -> Any:
        """Run it there."""
        command = given["limits"].around(command) if "limits" in given else command
        streams = [given.get(name, -1) for name in ("stdin", "stdout", "stderr")]
        return await self.executor.run(
            command, given.get("cwd") or self.workspace.path, given.get("env") or {}, *streams
        )


@asynccontextmanager
async def apart(tmp_path: Path, patience: float = 30.0) -> AsyncIterator[tuple[Apart, int]]:
    """A place whose executor is a process of this machine, and the number of that process."""
    (tmp_path / "work").mkdir(exist_ok=True)
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(1)
        listener.setblocking(False)
        words = [sys.executable, "-m", "agentrt.sandboxes.inside", path, str(tmp_path / "work")]
        process = await THIS_MACHINE.run(words, cwd="/", stdin=DEVNULL, stdout=DEVNULL)
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)
    place = Apart(LocalWorkspace(str(tmp_path / "work")), Executor(connection, patience))
    try:
        yield place, process.pid
    finally:
        place.executor.close()
        with anyio.CancelScope(shield=True):
            process.send_signal(signal.SIGCONT)
            await process.wait()
            process.close_pipes()


@pytest.mark.parametrize("check", [*FILES, *PROGRAMS], ids=lambda check: check.__name__)
async def test_the_contract(check: Check, tmp_path: Path) -> None:
    async with apart(tmp_path) as (place, _):
        with anyio.fail_after(SECONDS):
            await check(place)


async def test_every_end_is_told(tmp_path: Path) -> None:
    """Of processes that end by themselves and by a signal at the same time, too."""
    async with apart(tmp_path) as (place, _):
        with anyio.fail_after(SECONDS):
            for number in range(30):
                process = await place.run(["sleep", "0" if number % 2 else "1000"], stdin=DEVNULL, stdout=DEVNULL)
                await process.end()
                assert process.returncode in (0, -15, -9)
                process.close_pipes()


async def test_a_file_access_can_be_cancelled_at_any_moment(tmp_path: Path) -> None:
    async with apart(tmp_path) as (place, pid):
        await place.files.write(f"{place.workspace.path}/a", b"1")
        before = psutil.Process().num_fds()
        for microseconds in range(0, 3000, 60):
            with anyio.move_on_after(microseconds / 1e6):
                await place.files.read(f"{place.workspace.path}/a")
        with anyio.fail_after(SECONDS):
            assert await place.files.read(f"{place.workspace.path}/a") == b"1"
        assert psutil.Process().num_fds() <= before + 2
        os.kill(pid, signal.SIGSTOP)
        with anyio.move_on_after(0.2) as scope:
            await anyio.to_thread.run_sync(place.files.blocking.read, f"{place.workspace.path}/a")
        assert scope.cancelled_caught


async def test_an_executor_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    async with apart(tmp_path, patience=0.5) as (place, pid):
        running = await place.run(["sleep", "1000"], stdin=DEVNULL, stdout=DEVNULL)
        os.kill(pid, signal.SIGSTOP)
        with anyio.fail_after(SECONDS):
            with pytest.raises(ToolError, match=r"did not answer within 0\.5 s"):
                await said(place, "true")
            await running.end()
        assert running.returncode == -9
        running.close_pipes()


async def test_a_start_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    async with apart(tmp_path) as (place, pid):
        os.kill(pid, signal.SIGSTOP)
        with anyio.move_on_after(0.1):
            await place.run(["sleep", "1234.5"], stdin=DEVNULL, stdout=DEVNULL)
        os.kill(pid, signal.SIGCONT)
        with anyio.fail_after(SECONDS):
            assert await said(place, "echo there") == (0, b"there\n")
            while any("1234.5" in one.cmdline() for one in psutil.Process(pid).children() if one.status() != "zombie"):
                await anyio.sleep(0.01)


def many_descriptors(other: socket.socket) -> None:
    descriptors = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
    socket.send_fds(other, [b'{"id": 1}'], descriptors)
    for one in descriptors:
        os.close(one)


def a_pipe_as_a_message(other: socket.socket) -> None:
    reading, writing = os.pipe()
    socket.send_fds(other, [b'{"large": true}'], [reading])
    os.close(reading)
    os.set_inheritable(writing, False)


def a_huge_message(other: socket.socket) -> None:
    large = in_memory(b"")
    os.ftruncate(large, 3 << 30)
    socket.send_fds(other, [b'{"large": true}'], [large])
    os.close(large)


@pytest.mark.parametrize(
    "attack",
    [
        lambda other: other.send(b"garbage"),
        lambda other: other.send(b"[1]"),
        lambda other: other.send(b'{"id": "x"}'),
        lambda other: other.send(b"[" * 30_000),
        lambda other: other.send(b'{"large": true}'),
        lambda other: other.send(b"\xff\xfe"),
        many_descriptors,
        a_pipe_as_a_message,
        a_huge_message,
    ],
)
async def test_what_is_no_message_ends_the_connection_and_leaves_nothing(
    attack: Callable[[socket.socket], object],
) -> None:
    ours, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    executor = Executor(ours)
    before = psutil.Process().num_fds()
    with other, anyio.fail_after(5), pytest.raises(ToolError, match="has ended"):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(anyio.to_thread.run_sync, attack, other))
            try:
                await executor.ask("facts")
            except ToolError as error:
                failure = error
        raise failure
    assert not executor.alive
    assert psutil.Process().num_fds() <= before + 1  # one end of a pipe is the attacker's


@pytest.mark.parametrize(
    ("value", "call"),
    [
        ([1, 2], lambda files: files.status("/a")),
        ("x" * 9, lambda files: files.status("/a")),
        (7, lambda files: files.real("/a")),
        ([["a", 1]], lambda files: files.names("/a")),
        ([1, 2, 3], lambda files: files.modified("/a", ["b"])),
        (None, lambda files: files.read("/a")),
        ({"x": 1}, lambda files: files.write("/a", b"")),
    ],
)
async def test_an_answer_that_is_none_is_an_error_of_the_tool(
    value: object, call: Callable[[AskedFiles], object]
) -> None:
    ours, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    executor = Executor(ours)

    async def there() -> Executor:
        return executor

    def answer() -> None:
        found = receive(other)
        assert found is not None
        for descriptor in found[1]:
            os.close(descriptor)
        send(other, {"id": found[0]["id"], "value": value}, [other.fileno()])

    files = AskedFiles(there, asyncio.get_running_loop())
    before = psutil.Process().num_fds()
    with other, anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, answer)
            with pytest.raises(ToolError, match="an answer that is none"):
                await anyio.to_thread.run_sync(call, files)
        assert psutil.Process().num_fds() <= before
        executor.close()
