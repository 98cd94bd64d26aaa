"""Commands of hooks, with real processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from agentrt.hooks.commands import run_command
from agentrt.hooks.replies import KEPT, Ended
from agentrt.sandboxes.here import THIS_MACHINE, Here

from ..sandboxes import living
from ..sandboxes.consoles import here
from ..sandboxes.living import until

pytestmark = pytest.mark.real

LONG = 30.0

WHERE: list[Here] = []
"""The place of a test; none: this machine without a wall."""


@pytest.fixture(autouse=True, params=["off", "require"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Try it without a wall, and in a box."""
    if request.param == "off":
        yield
        return
    WHERE.append(here(tmp_path, "require"))
    yield
    anyio.run(WHERE.pop().close)


def lives(pid: int) -> bool:
    """Whether a process runs, by the number that the command knows."""
    return living.lives_inside(pid) if WHERE else living.lives(pid)


async def run(command: str, folder: Path, given: bytes = b"", seconds: float = LONG) -> Ended | None:
    return await run_command(WHERE[0] if WHERE else THIS_MACHINE, command, given, str(folder), {}, seconds)


async def run_out_of_time(command: str, folder: Path, told: Callable[[], object]) -> None:
    """Run it into a time limit that was long enough for it to tell."""
    for seconds in (0.3, 1.0, 10.0):
        assert await run(command, folder, seconds=seconds) is None
        if told():
            return
    raise TimeoutError


def pid_in(folder: Path) -> int:
    """What a command wrote to the file "pid"; 0 while it has not."""
    file = folder / "pid"
    return int((file.read_text() if file.exists() else "") or 0)


async def test_reads_and_prints(tmp_path: Path) -> None:
    assert await run("cat; echo no >&2; pwd", tmp_path, b"given ") == Ended(0, f"given {tmp_path}\n".encode(), b"no\n")


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 0", 0), ("exit 1", 1), ("exit 2", 2), ("no-such-command", 127), ("kill -9 $$", 137), ("kill $$", 143)],
)
async def test_exit_codes_are_those_of_a_shell(command: str, code: int, tmp_path: Path) -> None:
    ended = await run(command, tmp_path)
    assert ended is not None
    assert ended.code == code


async def test_one_that_does_not_read_its_input_ends_all_the_same(tmp_path: Path) -> None:
    assert await run("exit 2", tmp_path, b"x" * 5_000_000) == Ended(2, b"", b"")
    assert await run("exec <&-; head -c 3 /dev/zero >&2", tmp_path, b"x" * 5_000_000) == Ended(0, b"", b"\0\0\0")
    assert await run("wc -c", tmp_path, b"x" * 5_000_000) == Ended(0, b"5000000\n", b"")
    assert await run("cat /dev/stdin | wc -c", tmp_path, b"x" * 5_000_000) == Ended(0, b"5000000\n", b"")


async def test_a_flood_is_read_to_its_end_and_only_its_beginning_kept(tmp_path: Path) -> None:
    ended = await run("head -c 20000000 /dev/zero; head -c 20000000 /dev/zero >&2; echo end > done", tmp_path)
    assert ended is not None
    assert (ended.code, len(ended.stdout), len(ended.stderr)) == (0, KEPT, KEPT)
    assert (tmp_path / "done").exists()


async def test_a_flood_without_end_is_cut_by_the_time_limit(tmp_path: Path) -> None:
    await run_out_of_time("echo $$ > pid; exec yes", tmp_path, lambda: pid_in(tmp_path))
    assert not lives(pid_in(tmp_path))


async def test_nothing_secret_and_what_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2")
    monkeypatch.setenv("HARMLESS", "kept")
    ended = await run_command(THIS_MACHINE, "env", b"", str(tmp_path), {"AGENTRT_TOOL_NAME": "terminal"}, LONG)
    assert ended is not None
    lines = ended.stdout.decode().splitlines()
    assert {"HARMLESS=kept", "AGENTRT_TOOL_NAME=terminal", "TERM=dumb"} <= set(lines)
    assert b"hunter2" not in ended.stdout


async def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        await run("true", tmp_path / "missing")
    with pytest.raises(ValueError):
        await run("true \0", tmp_path)


FAMILY = """
echo $$ > leader
(echo "$(exec sh -c 'echo $PPID')" > member; exec sleep 300) &
setsid sh -c 'echo $$ > leaver; trap "" TERM; while :; do sleep 0.02; done' &
env -i setsid sh -c 'echo $$ > stranger; exec sleep 300' &
(env -i sh -c 'echo $$ > orphan; exec sleep 300' &)
wait
echo went on > after
"""
NAMES = ("leader", "member", "leaver", "stranger", "orphan")


def pids(folder: Path) -> list[int]:
    """Of all of the family, once they all have told."""
    texts = [(folder / name).read_text() for name in NAMES if (folder / name).exists()]
    return [int(text) for text in texts] if len(texts) == len(NAMES) and all(map(str.strip, texts)) else []


async def test_the_time_limit_ends_the_whole_family(tmp_path: Path) -> None:
    await run_out_of_time(FAMILY, tmp_path, lambda: pids(tmp_path))
    assert not any(map(lives, pids(tmp_path)))
    assert not (tmp_path / "after").exists()


async def test_cancellation_ends_the_whole_family(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(run, FAMILY, tmp_path)
        await until(lambda: pids(tmp_path))
        family = pids(tmp_path)
        assert all(map(lives, family))
        group.cancel_scope.cancel()
    assert not any(map(lives, family))
    assert not (tmp_path / "after").exists()


async def test_a_script_does_not_go_on_with_its_next_line(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(run, "echo > begun; sleep 300; echo > after", tmp_path)
        await until((tmp_path / "begun").exists)
        group.cancel_scope.cancel()
    assert not (tmp_path / "after").exists()


async def test_one_may_clean_up_at_term(tmp_path: Path) -> None:
    script = "trap 'echo > cleaned; exit' TERM; echo > begun; while :; do sleep 0.02; done"
    async with anyio.create_task_group() as group:
        group.start_soon(run, script, tmp_path)
        await until((tmp_path / "begun").exists)
        group.cancel_scope.cancel()
    assert (tmp_path / "cleaned").exists()


async def test_one_that_ignores_term_is_killed(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(run, "trap '' TERM; echo $$ > pid; while :; do sleep 0.02; done", tmp_path)
        await until(lambda: pid_in(tmp_path))
        begun = time.monotonic()
        group.cancel_scope.cancel()
    assert not lives(pid_in(tmp_path))
    assert time.monotonic() - begun < 10


async def test_it_has_not_ended_while_another_holds_its_output(tmp_path: Path) -> None:
    """Its child may still print the answer; one that gave the output up is let go on."""
    await run_out_of_time("sleep 300 & echo $! > pid", tmp_path, lambda: pid_in(tmp_path))
    assert not lives(pid_in(tmp_path))
    ended = await run("sleep 300 >/dev/null 2>&1 & echo $!", tmp_path)
    assert ended is not None
    assert lives(int(ended.stdout))
    await run(f"kill -9 {int(ended.stdout)}", tmp_path)


async def test_cancelling_before_it_began_leaves_nothing(tmp_path: Path) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run("sleep 0.2; echo > after", tmp_path)
    assert scope.cancelled_caught
    assert not (tmp_path / "after").exists()


async def test_many_leave_no_open_file(tmp_path: Path) -> None:
    await run("true", tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await run("true", tmp_path)
        await run("sleep 300", tmp_path, seconds=0.01)
    assert len(os.listdir("/proc/self/fd")) <= before
