"""kill -9 at every point of a commit and at any other time: nothing acknowledged is lost, nothing runs twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from agentrt import Conversation, Event, ExecutionStatus, Runtime
from agentrt.events import AgentErrorEvent, ExecutionLost
from agentrt.storage import read_conversation

from . import appender
from .evidence import NAME, RUN_SECONDS, Work, check_death, check_finished, check_numbering, in_flight, results
from .killing import killed_after
from .waiting import eventually
from .worker import counting_tools, scripted

pytestmark = pytest.mark.real

POINTS = ("taken", "written", "synced", "acknowledged")
KILLED = -signal.SIGKILL
COMMITS = 29
"""How many commits a run has: three until the first model call, two a step, and those of the parallel calls."""

JOURNALS = 5
"""Conversations of a store that is killed again and again."""

PROJECT = Path(__file__).parent.parent.parent

PROCESSES = 4
"""Workers side by side."""


async def die_and_finish(work: Work, deaths: Sequence[tuple[str, int]], *, here: bool = False) -> list[list[Event]]:
    """Let workers die as told, one after the other, then one finish (or `here`); the logs that the deaths left."""
    logs: list[list[Event]] = []
    for point, occurrence in deaths:
        assert await work.run(point, occurrence) == KILLED, (point, occurrence)
        logs.append(check_death(work, logs[-1] if logs else ()))
    assert await (work.finish_here() if here else work.run()) == 0
    check_finished(work, logs)
    return logs


async def side_by_side(directory: Path, *lives: Sequence[tuple[str, int]], here: bool = False) -> None:
    """`die_and_finish` for each list of deaths, in a conversation of its own."""
    places = anyio.CapacityLimiter(PROCESSES)

    async def live(deaths: Sequence[tuple[str, int]]) -> None:
        async with places:
            name = "+".join(f"{point}-{occurrence}" for point, occurrence in deaths)
            await die_and_finish(await _work(directory / name), deaths, here=here)

    async with anyio.create_task_group() as tasks:
        for deaths in lives:
            tasks.start_soon(live, deaths)


async def test_what_was_acknowledged_survives_and_nothing_runs_twice(tmp_path: Path) -> None:
    await side_by_side(
        tmp_path,
        [("written", 1), ("taken", 4)],
        [("acknowledged", 6), ("synced", 1)],
        [("taken", COMMITS)],
        here=True,
    )


async def test_a_library_user_resumes_what_a_process_left(tmp_path: Path) -> None:
    work = Work(tmp_path)
    assert await work.run("acknowledged", 4) == KILLED
    crashed = check_death(work, ())
    (cut,) = in_flight(crashed).values()
    assert cut.tool_name == "count"

    runtime = Runtime(work.store, client=scripted(work.workspace))
    async with runtime, Conversation(id=NAME, tools=counting_tools(work.workspace), runtime=runtime) as conversation:
        assert conversation.state.status is ExecutionStatus.PAUSED
        told = results([event async for event in conversation.events()])[cut.id]
        assert isinstance(told, AgentErrorEvent)
        assert "whether it took effect is unknown" in told.error
        state = await conversation.run()
        assert state.status is ExecutionStatus.FINISHED
    check_finished(work, [crashed])


async def test_an_idempotent_tool_runs_again(tmp_path: Path) -> None:
    work = Work(tmp_path)
    logs = await die_and_finish(work, [("acknowledged", 10), ("acknowledged", 2)], here=True)
    (again,), (still,) = (in_flight(log).values() for log in logs)
    assert again == still
    assert again.tool_name == "recount"
    events = work.events()
    assert sum(isinstance(event, ExecutionLost) for event in events) == 2
    assert results(events)[again.id].seq > logs[1][-1].seq


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
async def test_every_commit_of_a_run(tmp_path: Path, point: str) -> None:
    await side_by_side(tmp_path, *([(point, occurrence)] for occurrence in range(1, COMMITS + 1)), here=True)
    work = await _work(tmp_path / "whole")
    await die_and_finish(work, [])
    assert sum(line.startswith(b'{"i":1,') for line in work.log.read_bytes().splitlines()) == COMMITS


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
async def test_deaths_while_recovering(tmp_path: Path, point: str) -> None:
    """Three deaths in a row, two of them in the first commits after a recovery."""
    await side_by_side(tmp_path, *([("acknowledged", first), (point, 1), (point, 2)] for first in (4, 10, 14, 23)))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(50))
async def test_any_moment(tmp_path: Path, seed: int) -> None:
    work, chance = Work(tmp_path), random.Random(seed)
    logs: list[list[Event]] = []
    for _ in range(chance.randint(1, 2)):
        if not await _killed(work, seen=chance.randint(0, 60), later=chance.uniform(0.0, 0.01)):
            break
        logs.append(check_death(work, logs[-1] if logs else ()))
    assert await work.run() == 0
    check_finished(work, logs)


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.long)])
async def test_a_store_that_is_killed_again_and_again(tmp_path: Path, kills: int) -> None:
    """Also while it is opened: what was acknowledged stays, and what was once recovered too."""
    names, chance = [f"c{number}" for number in range(JOURNALS)], random.Random(kills)
    before: dict[str, list[Event]] = {name: [] for name in names}
    acknowledged: Counter[str] = Counter()
    program = [sys.executable, "-m", appender.__name__, str(tmp_path), *names]
    async with await anyio.open_process(program, cwd=PROJECT, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = BufferedByteReceiveStream(process.stdout)
        assert await _line(lines) == "ready"
        for number in range(kills):
            await process.stdin.send(b"\n")
            _, pid = (await _line(lines)).split()
            with anyio.move_on_after(chance.uniform(0.0, 0.12)):
                while True:
                    _note(await _line(lines), acknowledged)
            while number == kills - 1 and not all(acknowledged[name] for name in names):  # a busy machine is slow
                _note(await _line(lines), acknowledged)
            os.kill(int(pid), signal.SIGKILL)
            while (line := await _line(lines)) != appender.DIED:
                _note(line, acknowledged)
            for name in names:
                path = tmp_path / "conversations" / name
                events = read_conversation(path) if (path / "events.jsonl").exists() else []
                check_numbering(events)
                assert len(events) >= acknowledged[name], f"{name}: event {acknowledged[name]} was acknowledged"
                assert events[: len(before[name])] == before[name]
                before[name] = events
        await process.stdin.aclose()
        assert await process.wait() == 0
    assert all(acknowledged[name] for name in names)


async def _line(lines: BufferedByteReceiveStream) -> str:
    with anyio.fail_after(RUN_SECONDS):
        return (await lines.receive_until(b"\n", 1_000)).decode()


def _note(line: str, acknowledged: Counter[str]) -> None:
    name, seq = line.split()
    assert int(seq) > acknowledged[name]
    acknowledged[name] = int(seq)


async def _work(directory: Path) -> Work:
    await anyio.Path(directory).mkdir()
    return Work(directory)


async def _killed(work: Work, seen: int, later: float) -> bool:
    """Run a worker and kill it some seconds after it saw so many events; False when it had finished by then."""
    seen += len(work.acknowledged())
    async with await anyio.open_process(
        work.command(), env=work.environment, stdout=subprocess.PIPE, stderr=None
    ) as process:
        with anyio.fail_after(RUN_SECONDS):
            assert process.stdout is not None
            assert await process.stdout.receive() == b"ready\n"
            await eventually(lambda: process.returncode is not None or len(work.acknowledged()) >= seen, "its events")
            return await killed_after(process, later) != 0
