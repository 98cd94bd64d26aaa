"""The contract of places by the system's `ssh` and a real server, and what happens when such a link is lost."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import psutil
import pytest

from agentrt import ToolError
from agentrt.placing import DEVNULL, Place, PlaceType, Setting
from agentrt.sandboxes.by_command import CommandPlace
from agentrt.sandboxes.shell import Shell
from agentrt.specs import WorkspaceSpec

from ...examples import example
from ...tools.acting import ACTS, Act
from ...tools.context import FakeContext
from ..places import FILES, PROGRAMS, SECONDS, Check, at, said, within
from ..sshd import Sshd, sshd

pytestmark = pytest.mark.real

SSH = example("ssh_workspace")


@pytest.fixture(scope="module")
def server() -> Iterator[Sshd]:
    with sshd() as running:
        yield running


@pytest.fixture
def workspace(server: Sshd, tmp_path: Path) -> WorkspaceSpec:
    """A directory that the server has."""
    (tmp_path / "work").mkdir()
    found: WorkspaceSpec = SSH.SshWorkspace(str(tmp_path / "work"), "there", sys.executable, server.options)
    return found


class NearWorkspace(WorkspaceSpec, msgspec.Struct, frozen=True, tag="by-a-command"):
    """A directory that a command of this machine reaches."""

    path: str
    words: tuple[str, ...] = ("sh", "-c", 'exec "$@"', "sh")


class NearPlace(CommandPlace[NearWorkspace]):
    """Its place."""

    @property
    def interpreter(self) -> str:
        return sys.executable

    @property
    def name(self) -> str:
        return "the other side"

    def command(self, program: Sequence[str]) -> Sequence[str]:
        return [*self.workspace.words, *program]


NEAR = PlaceType(NearWorkspace, NearPlace)


@asynccontextmanager
async def opened(workspace: WorkspaceSpec) -> AsyncIterator[Place]:
    """The place of a workspace."""
    kind = NEAR if isinstance(workspace, NearWorkspace) else SSH.PLACE
    async with anyio.create_task_group() as tasks:
        place = kind.open(workspace, Setting(tasks.start_soon))
        try:
            with anyio.fail_after(SECONDS):
                yield place
        finally:
            with anyio.CancelScope(shield=True):
                await place.close()


@pytest.mark.parametrize("check", [*FILES, *PROGRAMS], ids=lambda check: check.__name__)
async def test_a_machine_by_ssh(check: Check, workspace: WorkspaceSpec) -> None:
    async with opened(workspace) as place:
        await check(place)


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_every_tool_on_a_machine_by_ssh(act: Act, workspace: WorkspaceSpec) -> None:
    async with anyio.create_task_group() as tasks:
        context = FakeContext(Path(workspace.path))
        context.workspace, context.tasks = workspace, tasks
        place = context.place  # before a thread asks for it
        try:
            with anyio.fail_after(60):
                await act(context)
        finally:
            with anyio.CancelScope(shield=True):
                await place.close()


async def test_what_a_login_prints_is_no_answer(tmp_path: Path) -> None:
    greets = ("sh", "-c", 'echo Welcome; echo motd >&2; exec "$@"', "sh")
    async with opened(NearWorkspace(str(tmp_path), greets)) as place:
        assert await said(place, "echo here") == (0, b"here\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("no-such-program",), "the other side cannot be reached: no-such-program is not installed"),
        (("sh", "-c", "echo 'Connection refused' >&2; exit 255"), "cannot be reached: Connection refused"),
        (("sh", "-c", "exec no-such-python"), "cannot be reached: .*no-such-python"),
        (("sh", "-c", "yes"), "the other side prints more than 65536 bytes before anything runs there"),
        (("sh", "-c", "printf '\\036agentrt is ready\\037'; cat"), "the other side has ended: it does not speak"),
    ],
)
async def test_a_command_that_reaches_nothing_is_told(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    """Each use tries again."""
    async with opened(NearWorkspace(str(tmp_path), words)) as place:
        for _ in range(2):
            with pytest.raises(ToolError, match=told):
                await said(place, "true")


async def test_a_link_that_is_lost_ends_what_ran_and_is_begun_again(tmp_path: Path) -> None:
    async with opened(NearWorkspace(str(tmp_path))) as place:
        process = await place.run(["sh", "-c", "echo $$; exec sleep 1000"], env={}, stdin=DEVNULL)
        assert process.stdout is not None
        running = psutil.Process(int(await process.stdout.receive()))
        running.parent().kill()  # type: ignore[union-attr]
        assert await process.wait() == -9
        with pytest.raises((anyio.EndOfStream, anyio.ClosedResourceError)):
            await process.stdout.receive()
        process.close_pipes()
        assert await said(place, "echo again") == (0, b"again\n")
        running.kill()  # the far end was killed, and could end nothing any more


HOLDS = """
import sys
from pathlib import Path

import anyio

from agentrt.placing import DEVNULL, Setting
from tests.sandboxes.by_command.test_place import NearPlace, NearWorkspace


async def main():
    async with anyio.create_task_group() as tasks:
        place = NearPlace(NearWorkspace(sys.argv[1]), Setting(tasks.start_soon))
        script = "(setsid sleep 1000 & echo $! > far) </dev/null >/dev/null 2>&1; sleep 1000 & echo $! > near;"
        script += "echo up; wait"
        process = await place.run(["sh", "-c", script], stdin=DEVNULL)
        print((await process.stdout.receive()).decode(), flush=True)
        await anyio.sleep_forever()


anyio.run(main)
"""


def test_nothing_runs_on_when_the_runtime_is_killed(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, cwd=root)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == b"up\n"
        left = [psutil.Process(int((tmp_path / name).read_text())) for name in ("far", "near")]
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    _, alive = psutil.wait_procs(left, timeout=SECONDS)
    assert alive == []


async def test_what_was_just_closed_does_not_keep_the_far_end_from_ending_all(tmp_path: Path) -> None:
    async with opened(NearWorkspace(str(tmp_path))) as place:
        process = await place.run(["sleep", "1000"])
        running = psutil.Process(process.pid)
        process.close_pipes()
        await place.close()
        assert not running.is_running() or running.status() == psutil.STATUS_ZOMBIE


async def test_an_interrupt_reaches_what_runs_there(tmp_path: Path) -> None:
    script = "trap 'echo interrupted; exit 3' INT; echo up; while :; do sleep 0.05; done"
    async with opened(NearWorkspace(str(tmp_path))) as place:
        process = await place.run(["sh", "-c", script], stdin=DEVNULL)
        assert process.stdout is not None
        assert await process.stdout.receive() == b"up\n"
        process.send_signal(signal.SIGINT)
        assert await process.stdout.receive() == b"interrupted\n"
        assert await process.wait() == 3
        process.close_pipes()


async def test_what_was_typed_ahead_is_not_run_after_an_interrupt(tmp_path: Path) -> None:
    async with opened(NearWorkspace(str(tmp_path))) as place:
        shell = Shell(place.console(), str(tmp_path))
        await shell.start()
        try:
            await shell.begin("sleep 100", lambda data: None)
            with pytest.raises(ToolError, match="the command does not read its input"):
                await shell.send(b"echo x >> ran\n" * 3000)
            await shell.interrupt()
            heard = bytearray()
            await shell.begin("echo again", heard.extend)
            while await shell.wait(None) is None:
                pass
            assert b"again" in heard
        finally:
            await shell.close()
    assert not (tmp_path / "ran").exists()


def unread(pid: int) -> int:
    """The number of bytes that wait in the pipe which a process reads."""
    pipe = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
    try:
        return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
    finally:
        os.close(pipe)


async def test_a_link_that_is_lost_in_a_file_is_one_error(tmp_path: Path) -> None:
    async with opened(NearWorkspace(str(tmp_path))) as place:
        process = await place.run(["sleep", "1000"], stdin=DEVNULL)
        far = psutil.Process(process.pid).parent()
        assert far is not None

        far.suspend()
        async with anyio.create_task_group() as tasks:

            async def write() -> None:
                with pytest.raises(ToolError, match="the other side has ended"):
                    await place.files.write(at(place, "large"), bytes(3_000_000))

            tasks.start_soon(write)
            while unread(far.pid) < 4096:
                await anyio.sleep(0.01)
            far.kill()


async def test_large_files_and_a_descriptor_are_written_whole(tmp_path: Path) -> None:
    data = os.urandom(24_000_000)
    async with opened(NearWorkspace(str(tmp_path))) as place:
        await place.files.write(at(place, "large"), data)
        with (tmp_path / "copy").open("wb") as copy:
            process = await place.run(["cat", at(place, "large")], stdin=DEVNULL, stdout=copy)
            assert await process.wait() == 0
            process.close_pipes()
        assert (tmp_path / "copy").read_bytes() == data


async def test_a_command_gets_no_secret_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-of-this-test")
    async with opened(NearWorkspace(str(tmp_path))) as place:
        assert b"sk-canary" not in (await said(place, "env; tr '\\0' '\\n' < /proc/$PPID/environ"))[1]


async def test_what_nobody_reads_is_not_held_here(tmp_path: Path) -> None:
    """A program that prints without end waits, and others go on."""
    async with opened(NearWorkspace(str(tmp_path))) as place:
        endless = await place.run(["yes"], stdin=DEVNULL)
        assert endless.stdout is not None
        for _ in range(20):
            assert await said(place, "echo on") == (0, b"on\n")
        assert await endless.stdout.receive(10) == b"y\ny\ny\ny\ny\n"
        endless.stdout.close()  # type: ignore[attr-defined]
        assert await endless.wait() in (-signal.SIGPIPE, 1)
        endless.close_pipes()


async def test_a_descriptor_of_this_machine_is_a_stream_there(tmp_path: Path) -> None:
    (tmp_path / "given").write_bytes(b"words " * 50_000)
    reading, writing = os.pipe()
    async with opened(NearWorkspace(str(tmp_path))) as place:
        with (tmp_path / "given").open("rb") as given, open(reading, "rb") as result:
            process = await place.run(["wc", "-c"], stdin=given, stdout=writing)
            os.close(writing)
            assert await process.wait() == 0
            assert await anyio.to_thread.run_sync(result.read) == b"300000\n"
        process.close_pipes()


async def test_secrets_are_in_no_argument_and_no_file(tmp_path: Path) -> None:
    secret = "s3cr3t-of-this-test"
    async with opened(NearWorkspace(str(tmp_path))) as place:
        process = await place.run(["sh", "-c", "echo $GIVEN; exec sleep 1000"], env={"GIVEN": secret}, stdin=DEVNULL)
        assert process.stdout is not None
        assert await process.stdout.receive() == f"{secret}\n".encode()
        words = [one.info["cmdline"] or [] for one in psutil.process_iter(["cmdline"])]
        assert not any(secret in word for line in words for word in line)
        await process.end()
        process.close_pipes()


async def test_a_link_that_leads_elsewhere_than_rated_is_refused(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text("canary")
    (tmp_path / "work/link").symlink_to(tmp_path / "secret")
    async with opened(NearWorkspace(str(tmp_path / "work"))) as place:
        rated = place.files.blocking.rated({})
        with pytest.raises(ToolError, match="leads to .*secret, and was not rated as that"):
            await within(place, rated.read, at(place, "link"))
        with pytest.raises(ToolError, match="leads to .*secret"):
            await within(place, rated.write, at(place, "link"), b"changed")
        known = place.files.blocking.rated({at(place, "link"): str(tmp_path / "secret")})
        assert await within(place, known.read, at(place, "link")) == b"canary"
    assert (tmp_path / "secret").read_text() == "canary"


async def test_its_python_without_this_package_says_so(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)

    class Bare(NearPlace):
        @property
        def interpreter(self) -> str:
            return str(bare / "bin/python")

    async with anyio.create_task_group() as tasks:
        place = Bare(NearWorkspace(str(tmp_path)), Setting(tasks.start_soon))
        assert await said(place, "echo here") == (0, b"here\n")
        with pytest.raises(ToolError, match="this needs agentrt on the other side: install it for the Python there"):
            await place.python()
        await place.close()
