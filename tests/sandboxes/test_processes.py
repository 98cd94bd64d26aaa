"""Finding and ending what a shell started; with real processes."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from agentrt.sandboxes.process_table import children
from agentrt.sandboxes.processes import CONVERSATION, end, is_alone, listening, started_by
from agentrt.scratch import RUNTIME

from .living import lives, until

pytestmark = pytest.mark.real

TOKEN = secrets.token_hex(8)
MARK = f"AGENTRT_CALL={TOKEN}-7"
EARLIER = f"AGENTRT_CALL={TOKEN}-6"


def boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@contextmanager
def shell(script: str, folder: Path, *, mark: str = "") -> Iterator[int]:
    """A bash that leads a session, as a terminal's does. The script writes the pids that it tells of to files."""
    environment = dict(os.environ) | dict([mark.split("=")] if mark else [])
    process = subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment, start_new_session=True)
    try:
        yield process.pid
    finally:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
        process.wait()


async def told(file: Path) -> int:
    """The pid in a file, once it is written."""
    await until(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


async def test_finds_what_is_below_the_shell_but_not_the_shell(tmp_path: Path) -> None:
    with shell("bash -c 'echo $$ > child; exec sleep 300' & bash -c 'exec sleep 300' & wait", tmp_path) as pid:
        child = await told(tmp_path / "child")
        await until(lambda: len(started_by(pid, MARK, 0.0)) == 2)
        found = {process.pid for process in started_by(pid, MARK, 0.0)}
        assert child in found
        assert pid not in found
        assert os.getpid() not in found
        await end(pid, MARK, 0.0)
        assert not any(map(lives, found))


async def test_finds_what_the_shell_forked_and_nobody_waits_for(tmp_path: Path) -> None:
    """A subshell in the background of a subshell: its parent is gone, and its environment is the shell's."""
    with shell("( ( echo $BASHPID > child; while :; do sleep 0.01; done ) & ); sleep 300", tmp_path) as pid:
        child = await told(tmp_path / "child")
        await until(lambda: psutil.Process(child).ppid() != pid)
        assert child in {process.pid for process in started_by(pid, MARK, 0.0)}
        await end(pid, MARK, 0.0)
        assert not lives(child)


async def test_finds_what_left_the_session_by_its_mark(tmp_path: Path) -> None:
    script = "(setsid sh -c 'echo $$ > child; exec sleep 300' &); sleep 300"
    with shell(script, tmp_path, mark=MARK) as pid:
        child = await told(tmp_path / "child")
        assert os.getsid(child) == child
        assert child in {process.pid for process in started_by(pid, MARK, 0.0)}
        await end(pid, MARK, 0.0)
        assert not lives(child)


async def test_leaves_what_began_before_and_what_that_starts(tmp_path: Path) -> None:
    """The server of an earlier command forks a worker while a later one runs."""
    os.mkfifo(tmp_path / "gate")
    with shell("(while :; do sleep 0.01; : > worked; done) & echo $! > server; read line < gate", tmp_path) as pid:
        server = await told(tmp_path / "server")
        await until((tmp_path / "worked").exists)
        since = boot_time() + 0.02
        await until(lambda: boot_time() > since)
        for _ in range(20):
            assert started_by(pid, MARK, since) == []
        assert server in {process.pid for process in started_by(pid, MARK, 0.0)}
        await end(pid, MARK, 0.0)


def test_finds_what_is_just_replacing_its_program() -> None:
    """For that moment the kernel shows no environment, and so no mark."""
    environment = dict(os.environ) | dict([MARK.split("=")])
    for _ in range(20):
        process = subprocess.Popen(["sh", "-c", "exec sleep 300"], env=environment)
        try:
            while psutil.Process(process.pid).name() != "sleep":
                assert process.pid in {one.pid for one in started_by(process.pid + 1, MARK, boot_time())}
        finally:
            process.kill()
            process.wait()


NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


@pytest.mark.skipif(subprocess.run([*NAMESPACE, "true"]).returncode != 0, reason="no PID namespace can be made here")
def test_finds_what_has_its_session_outside_of_its_pid_namespace() -> None:
    """As in a container: proc(5) then says 0 for the session of whatever was entered with it."""
    script = f"""
import subprocess
from agentrt.sandboxes.processes import started_by
with subprocess.Popen(["sleep", "300"], env={{"AGENTRT_CALL": {MARK.partition("=")[2]!r}}}) as process:
    found = [one.pid for one in started_by(process.pid + 1, {MARK!r}, 0.0)]
    process.kill()
assert found == [process.pid], found
"""
    subprocess.run([*NAMESPACE, sys.executable, "-c", script], check=True)


async def test_leaves_what_it_is_told_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    with shell("(echo $BASHPID > one; read < gate) & (echo $BASHPID > two; read < gate) & wait", tmp_path) as pid:
        one, two = await told(tmp_path / "one"), await told(tmp_path / "two")
        assert children(pid) == {one, two}
        assert await end(pid, MARK, 0.0, earlier=frozenset({one})) == ("SIGTERM",)
        assert lives(one)
        assert not lives(two)


@pytest.mark.simulated
async def test_no_children_of_a_process_that_is_not_there() -> None:
    assert children(2**22 + 1) == frozenset()


async def test_a_process_is_alone_when_it_is_stopped_and_has_no_child(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    with shell("echo $$ > own; read < gate; sleep 300 & echo $! > child; read < gate", tmp_path) as pid:
        await told(tmp_path / "own")
        assert await is_alone(pid)
        assert psutil.Process(pid).status() == psutil.STATUS_STOPPED
        os.kill(pid, signal.SIGCONT)
        (tmp_path / "gate").write_text("\n")
        await told(tmp_path / "child")
        assert not await is_alone(pid)


async def test_a_process_that_has_ended_is_not_alone() -> None:
    """What it had started has another parent by then."""
    with subprocess.Popen(["true"]) as process:
        await until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
        assert not await is_alone(process.pid)
    assert not await is_alone(process.pid)


async def test_leaves_what_has_the_mark_of_an_earlier_command(tmp_path: Path) -> None:
    script = f"(env {EARLIER} sh -c 'echo $$ > other; exec sleep 300' &)\n"
    script += f"env {MARK} sh -c 'echo $$ > own; exec sleep 300'; :"
    with shell(script, tmp_path) as pid:
        other, own = await told(tmp_path / "other"), await told(tmp_path / "own")
        found = {process.pid for process in started_by(pid, MARK, 0.0)}
        assert own in found
        assert other not in found
        await end(pid, MARK, 0.0)
        assert lives(other)
        assert not lives(own)
        os.kill(other, signal.SIGKILL)


async def test_leaves_the_processes_of_others(tmp_path: Path) -> None:
    with shell("echo $$ > mine; sleep 300; :", tmp_path) as mine, shell("sleep 300; :", tmp_path) as theirs:
        await told(tmp_path / "mine")
        assert await end(mine, MARK, 0.0) == ("SIGTERM",)
        assert lives(theirs)
        assert theirs not in {process.pid for process in started_by(mine, MARK, 0.0)}


async def test_an_ended_process_that_nobody_collects_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    with shell("read line < gate & echo $! > child; exec sleep 300", tmp_path) as pid:
        child = await told(tmp_path / "child")
        await until(lambda: psutil.Process(pid).name() == "sleep")
        (tmp_path / "gate").write_text("go\n")
        await until(lambda: psutil.Process(child).status() == psutil.STATUS_ZOMBIE)
        assert started_by(pid, MARK, 0.0) == []
        assert await end(pid, MARK, 0.0) == ()


async def test_what_ends_at_term_is_not_killed(tmp_path: Path) -> None:
    with shell("sh -c 'echo $$ > child; exec sleep 300' & wait", tmp_path) as pid:
        child = await told(tmp_path / "child")
        assert await end(pid, MARK, 0.0) == ("SIGTERM",)
        assert not lives(child)


async def test_what_ignores_term_is_killed(tmp_path: Path) -> None:
    script = "bash -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.01; done' & wait"
    with shell(script, tmp_path) as pid:
        child = await told(tmp_path / "child")
        assert await end(pid, MARK, 0.0) == ("SIGTERM", "SIGKILL")
        assert not lives(child)
        assert started_by(pid, MARK, 0.0) == []


SERVES = """
import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
if "forks" in sys.argv and not os.fork(): sys.stdin.read(); os._exit(0)
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def serving(mark: str, *words: str) -> Iterator[int]:
    """A process that listens, with the mark of a conversation."""
    environment = {**os.environ, CONVERSATION: mark}
    command = [sys.executable, "-c", SERVES, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())


def test_a_port_belongs_to_the_conversation_whose_process_listens() -> None:
    with serving("mine") as mine, serving("other") as other, socket.create_server(("127.0.0.1", 0)) as own:
        ports = {mine, other, own.getsockname()[1]}
        assert listening(ports, "mine") == {mine}
        assert listening(ports, "nobody's") == frozenset()
        assert listening({other}, "mine") == frozenset()
    assert listening({mine}, "mine") == frozenset()


def test_a_server_of_several_processes_belongs_to_it_as_well() -> None:
    with serving("mine", "forks") as port:
        assert listening({port}, "mine") == {port}


def test_a_port_on_which_others_listen_too_does_not_belong_to_it() -> None:
    with serving("mine") as port, socket.create_server(("127.0.0.2", port)):
        assert listening({port}, "mine") == frozenset()


KILLED = """
import os, subprocess, sys
from agentrt.scratch import RUNTIME, runtime_directory
print(runtime_directory.directory("shell-"), runtime_directory.name, flush=True)
words = ["setsid", "sh", "-c", "sleep 300 & echo $!; wait"]
subprocess.Popen(words, env={**os.environ, RUNTIME: runtime_directory.name}, start_new_session=True)
sys.stdin.read()
"""


NEXT = """
import sys, anyio
from agentrt import Runtime
from agentrt.testing import ScriptedLLM

async def main():
    async with Runtime(sys.argv[1], client=ScriptedLLM([])):
        await anyio.to_thread.run_sync(sys.stdin.read)

anyio.run(main)
"""
"""Has a runtime until its input ends."""


@contextmanager
def runtime() -> Iterator[tuple[subprocess.Popen[str], Path, int]]:
    """A process with a runtime directory, a directory in it, and something that it started in the background."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", KILLED], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        place = Path(process.stdout.readline().split()[0])
        started = int(process.stdout.readline())
        try:
            yield process, place, started
        finally:
            process.kill()
            with suppress(ProcessLookupError):
                os.kill(started, signal.SIGKILL)


async def test_what_a_killed_runtime_left_is_ended_and_removed_and_nothing_of_a_living_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with runtime() as (_, kept, living), runtime() as (killed, left, orphan):
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert lives(orphan)
        assert left.is_dir()
        for name in ("first", "second"):
            with subprocess.Popen([sys.executable, "-c", NEXT, tmp_path / name], stdin=subprocess.PIPE):
                await until(lambda: not lives(orphan) and not left.parent.exists(), 30)
        assert kept.is_dir()
        assert lives(living)
    assert {path.name for path in tmp_path.glob("agentrt-run-*")} == {kept.parent.name}


async def test_a_process_that_the_killed_one_had_started_does_not_end_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody starts a server in the shell that outlived another one."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with runtime() as (killed, left, orphan):
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        program = (
            "import anyio; from agentrt.scratch import ownerless;"
            " from agentrt.sandboxes.processes import end_ownerless;"
            " anyio.run(end_ownerless, list(ownerless())); print('alive')"
        )
        mark = left.parent.name.rpartition("-")[2]
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, RUNTIME: mark},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout, done.returncode) == ("alive\n", 0), done.stderr
        assert lives(orphan)
