"""kill -9 at every point of a commit and at any other time: nothing acknowledged is lost, nothing runs twice."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from anyio.streams.text import TextReceiveStream

from agentrt import Conversation, Event, ExecutionStatus, Runtime
from agentrt.events import AgentErrorEvent, ExecutionLost

from .evidence import NAME, RUN_SECONDS, Work, check_death, check_finished, in_flight, results
from .worker import counting_tools, scripted

POINTS = ("taken", "written", "synced", "acknowledged")
KILLED = -signal.SIGKILL


async def die_and_finish(work: Work, *deaths: tuple[str, int]) -> list[list[Event]]:
    """Let workers die as told, one after the other, then one finish; the logs that the deaths left."""
    logs: list[list[Event]] = []
    for point, occurrence in deaths:
        if await work.run(point, occurrence) != KILLED:
            break
        logs.append(check_death(work, logs[-1] if logs else ()))
    assert await work.run() == 0
    check_finished(work, logs)
    return logs


@pytest.mark.parametrize(
    "deaths",
    [
        [("written", 1)],
        [("taken", 2)],
        [("synced", 4)],
        [("taken", 5), ("written", 1)],
        [("acknowledged", 6), ("taken", 2)],
    ],
    ids=str,
)
async def test_what_was_acknowledged_survives_and_nothing_runs_twice(
    tmp_path: Path, deaths: Sequence[tuple[str, int]]
) -> None:
    logs = await die_and_finish(Work(tmp_path), *deaths)
    assert len(logs) == len(deaths)


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
    logs = await die_and_finish(work, ("acknowledged", 10), ("acknowledged", 2))
    for log in logs:
        assert [action.tool_name for action in in_flight(log).values()] == ["recount"]
    events = work.events()
    assert sum(isinstance(event, ExecutionLost) for event in events) == 2
    assert results(events)[next(iter(in_flight(logs[0])))].seq > logs[1][-1].seq


@pytest.mark.proof
@pytest.mark.parametrize("point", POINTS)
async def test_every_commit_of_a_run(tmp_path: Path, point: str) -> None:
    """One death at each commit of a run that has some thirty."""
    occurrence, commits = 0, 0
    while not commits:
        occurrence += 1
        logs = await die_and_finish(await _work(tmp_path / str(occurrence)), (point, occurrence))
        commits = 0 if logs else occurrence - 1
    assert commits > 24


@pytest.mark.proof
@pytest.mark.parametrize("point", POINTS)
async def test_deaths_while_recovering(tmp_path: Path, point: str) -> None:
    """Three deaths in a row, two of them in the first commits after a recovery."""
    for first in (4, 9, 14, 23):
        work = await _work(tmp_path / str(first))
        assert len(await die_and_finish(work, ("acknowledged", first), (point, 1), (point, 2))) == 3


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(50))
async def test_any_moment(tmp_path: Path, seed: int) -> None:
    work = Work(tmp_path)
    logs: list[list[Event]] = []
    while await _killed_after(work, random.Random(f"{seed} {len(logs)}").uniform(0.0, 0.35)):
        logs.append(check_death(work, logs[-1] if logs else ()))
    check_finished(work, logs)


async def _work(directory: Path) -> Work:
    await anyio.Path(directory).mkdir()
    return Work(directory)


async def _killed_after(work: Work, seconds: float) -> bool:
    """Run a worker and kill it so long after it is ready; False when it had finished by then."""
    with anyio.fail_after(RUN_SECONDS):
        async with await anyio.open_process(
            work.command(), env=work.environment, stdout=subprocess.PIPE, stderr=None
        ) as process:
            assert process.stdout is not None
            assert await TextReceiveStream(process.stdout).receive() == "ready\n"
            with anyio.move_on_after(seconds):
                await process.wait()
            if process.returncode is None:
                process.kill()
            return await process.wait() != 0
