"""Logs of schema version 3, in which no event says how a run ended: they mean what they meant, and go on."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from agentrt import Conversation, Runtime
from agentrt.events import ChildWaiting, Event, ExecutionStatus, RunEnded, RunRequested
from agentrt.state import fold
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, finish

from .recorder import TOOLS, same

pytestmark = pytest.mark.simulated

LOGS = sorted((Path(__file__).parent / "version-3").glob("*.jsonl"))
ENDS = {
    "a_hook_never_lets_the_agent_finish": "error",
    "the_agent_is_stuck": "stuck",
    "a_person_is_asked": "waiting_for_confirmation",
}


def read(log: Path, root: Path) -> list[Event]:
    directory = root / "store" / "conversations" / "c"
    directory.mkdir(parents=True)
    (directory / "events.jsonl").write_bytes(
        b"".join(_moved(line, f"/tmp/recorded/{log.stem}/work", str(root)) for line in log.read_bytes().splitlines())
    )
    return read_conversation(directory)


def _moved(line: bytes, there: str, here: str) -> bytes:
    """A record with another workspace."""
    body = line[: line.rindex(b',"crc"')].replace(there.encode(), here.encode())
    return body + b',"crc":"%08x"}\n' % crc32(body)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
async def test_it_is_replayed(log: Path, tmp_path: Path) -> None:
    events = read(log, tmp_path)
    assert not any(isinstance(event, RunEnded) for event in events)
    assert fold(events).status == ENDS.get(log.stem, "finished")
    await same(events)


def test_a_run_that_waited_for_a_person_below_waits(tmp_path: Path) -> None:
    events = read(_log("children_ask_a_person"), tmp_path)
    asked = [event for event in events if isinstance(event, ChildWaiting) and event.actions]
    statuses = [fold(events[: event.seq]).status for event in asked]
    assert statuses == [ExecutionStatus.RUNNING, ExecutionStatus.WAITING_FOR_CONFIRMATION], "both of its children do"


@pytest.mark.real
async def test_the_next_run_is_ended_by_an_event(tmp_path: Path) -> None:
    before = read(_log("a_message_steers"), tmp_path)
    async with Runtime(tmp_path / "store", client=ScriptedLLM([finish("Again.")]), tools=TOOLS) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            assert conversation.state == fold(before)
            await conversation.send_message("Once more.")
            assert (await conversation.run()).status is ExecutionStatus.FINISHED
            events = [event async for event in conversation.events()]
            assert conversation.state == fold(events)
    assert isinstance(events[-1], RunEnded)


@pytest.mark.real
async def test_a_run_that_waits_for_a_person_is_taken_over(tmp_path: Path) -> None:
    before = read(_log("a_person_is_asked"), tmp_path)
    async with Runtime(tmp_path / "store", client=ScriptedLLM([finish("Done.")]), tools=TOOLS) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            assert conversation.state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
            assert conversation.state.branch == fold(before).branch
            await conversation.confirm()
            assert (await conversation.run()).status is ExecutionStatus.FINISHED
            events = [event async for event in conversation.events(len(before))]
    assert isinstance(events[0], RunRequested)
    assert events[0].source == "environment"
    assert isinstance(events[-1], RunEnded)


async def test_what_waited_for_persons_below_when_its_process_died_runs_only_when_it_is_told_to(tmp_path: Path) -> None:
    events = read(_log("children_ask_a_person"), tmp_path)
    asked = [event.seq for event in events if isinstance(event, ChildWaiting) and event.actions]
    log = tmp_path / "store" / "conversations" / "c" / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[: asked[1]]))
    async with Runtime(tmp_path / "store", client=ScriptedLLM([]), tools=TOOLS) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            assert conversation.state.status is ExecutionStatus.PAUSED
            assert not [event async for event in conversation.events(asked[1]) if isinstance(event, RunRequested)]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
async def test_a_fork_anywhere_shows_what_was_there(log: Path, tmp_path: Path) -> None:
    events = read(log, tmp_path)
    async with Runtime(tmp_path / "store", client=ScriptedLLM([])) as runtime:
        for at in range(2, len(events) + 1, 3):
            shared = fold(events[:at])
            name = await runtime.fork("c", at)
            state = fold(read_conversation(tmp_path / "store" / "conversations" / name))
            view = [seen.seq for seen in state.branch.view]
            assert (state.status, state.in_flight) == (ExecutionStatus.IDLE, ())
            assert view[: len(shared.branch.view)] == [seen.seq for seen in shared.branch.view]


def _log(name: str) -> Path:
    return next(log for log in LOGS if log.stem == name)
