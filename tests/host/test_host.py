from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, ExecutionStatus, Runtime, Tool
from agentrt.context.replies import ModelReply
from agentrt.errors import ConversationMissing, CursorExpired, LogFailed
from agentrt.events import Cursor, Event, MessageEvent
from agentrt.protocols import ModelRequest
from agentrt.specs import Durability
from agentrt.specs.content import plain
from agentrt.storage import FileStore, read_conversation
from agentrt.testing import ScriptedLLM, call, finish, say
from tests.proofs.evidence import check_numbering
from tests.storage.failing_disk import FailingDisk

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted/model"), tools=(Tool(name="think"),), checkpoints=False)
KINDS = ["full", "broken"]


@asynccontextmanager
async def runtime_on(
    disk: FailingDisk, directory: Path, model: ScriptedLLM | None = None, durability: Durability = Durability.COMMIT
) -> AsyncIterator[Runtime]:
    """A runtime whose logs are written to a disk that may fail."""
    store = FileStore(directory / "store", durability=durability, disk=disk)
    async with Runtime(store, client=model or ScriptedLLM(lambda request: say("Fine."))) as runtime:
        yield runtime


def log_of(directory: Path, name: str) -> list[Event]:
    """The events of a log on disk."""
    return read_conversation(directory / "store" / "conversations" / name)


def said_in(events: list[Event]) -> list[str]:
    """What users said."""
    return [plain(event.content) for event in events if isinstance(event, MessageEvent) and event.source == "user"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_log_that_failed_is_opened_again_by_the_next_request(tmp_path: Path, kind: str) -> None:
    disk = FailingDisk()
    async with runtime_on(disk, tmp_path) as runtime, Conversation(AGENT, tmp_path, runtime=runtime, id="c") as live:
        await live.send_message("first")
        before = live.cursor
        with disk.failing(kind):
            for _ in range(2):
                with pytest.raises(LogFailed):
                    await live.send_message("refused")
            assert live.cursor == before
            error = live.state.error
            assert error is not None
            assert (live.state.status, error.code) == (ExecutionStatus.ERROR, "log-failed")
            assert "/" not in error.detail.replace("Input/output", ""), "no path of this machine"
        await live.send_message("second")
        assert (await live.run()).status is ExecutionStatus.FINISHED
        assert live.state.epoch == before.epoch
    events = log_of(tmp_path, "c")
    check_numbering(events)
    assert said_in(events) == ["first", "second"], "what was refused did not happen"
    assert not list((tmp_path / "store" / "conversations" / "c").glob("events.jsonl.torn-*"))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_is_ended_by_a_log_that_fails_and_goes_on_when_told(tmp_path: Path, kind: str) -> None:
    disk, replies = FailingDisk(), 0

    def model(request: ModelRequest) -> ModelReply:
        nonlocal replies
        replies += 1
        if replies == 1:
            setattr(disk, kind, True)
        return call("think", thought="hm") if replies < 3 else finish("Done.")

    async with (
        runtime_on(disk, tmp_path, ScriptedLLM(model)) as runtime,
        Conversation(AGENT, tmp_path, runtime=runtime, id="c") as live,
    ):
        await live.send_message("Think")
        with pytest.raises(LogFailed), anyio.fail_after(10):
            await live.run()
        assert live.state.status is ExecutionStatus.ERROR
        setattr(disk, kind, False)
        assert (await live.run()).status is ExecutionStatus.FINISHED
        assert live.answer == "Done."
    check_numbering(log_of(tmp_path, "c"))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_follower_misses_nothing_and_sees_nothing_twice(tmp_path: Path, kind: str) -> None:
    disk, seen = FailingDisk(), list[int]()

    async def follow(live: Conversation) -> None:
        while True:
            try:
                async for item in live.stream(Cursor(live.state.epoch, len(seen))):
                    if isinstance(item, Event):
                        seen.append(item.seq)
            except LogFailed:
                continue  # as a client that reconnects with its cursor

    async with runtime_on(disk, tmp_path) as runtime, Conversation(AGENT, tmp_path, runtime=runtime, id="c") as live:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow, live)
            await live.send_message("first")
            with disk.failing(kind), pytest.raises(LogFailed):
                await live.send_message("refused")
            await anyio.wait_all_tasks_blocked()
            await live.send_message("second")
            await live.run()
            with anyio.fail_after(10):
                while len(seen) < live.state.seq:
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert seen == [event.seq for event in log_of(tmp_path, "c")][: len(seen)]
    assert seen == list(range(1, len(seen) + 1))


@pytest.mark.parametrize("durability", [Durability.NONE, Durability.INTERVAL])
async def test_a_new_epoch_begins_where_acknowledged_events_may_be_lost(tmp_path: Path, durability: Durability) -> None:
    disk = FailingDisk()
    async with (
        runtime_on(disk, tmp_path, durability=durability) as runtime,
        Conversation(AGENT, tmp_path, runtime=runtime, id="c") as live,
    ):
        await live.send_message("first")
        before = live.cursor
        with disk.failing("broken"):
            for attempt in (live.fork(), live.send_message("refused")):  # a fork syncs
                with pytest.raises(LogFailed):
                    await attempt
            with pytest.raises(LogFailed):  # once it has left memory
                await live.send_message("refused")
        assert live.state.status is ExecutionStatus.ERROR
        assert live.state.epoch == before.epoch + 1
        with pytest.raises(CursorExpired):
            live.events(before)
        shown = [event.seq async for event in live.events(Cursor(live.state.epoch, 0))]
        assert shown == list(range(1, live.state.seq + 1)), "what is shown is on the disk"
        await live.send_message("second")
        assert live.state.epoch == before.epoch + 1
    check_numbering(log_of(tmp_path, "c"))


async def test_a_failure_is_told_to_the_operator(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    disk, told = FailingDisk(), list[str]()
    async with runtime_on(disk, tmp_path) as runtime, Conversation(AGENT, tmp_path, runtime=runtime, id="c") as live:
        runtime.hosts.reports.append(lambda name, failure: told.append(f"{name}: {type(failure).__name__}"))
        with disk.failing("full"):
            with pytest.raises(LogFailed):
                await live.send_message("refused")
            with pytest.raises(LogFailed):
                async with Conversation(AGENT, tmp_path, runtime=runtime, id="d"):
                    pass
    assert told == ["c: LogFailed", "d: LogFailed"]
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert len(lines) == 2
    assert "conversation c" in lines[0]
    assert "No space left" in lines[0]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_conversation_that_could_not_begin_leaves_nothing(tmp_path: Path, kind: str) -> None:
    disk, conversations = FailingDisk(), tmp_path / "store" / "conversations"
    async with runtime_on(disk, tmp_path) as runtime:
        with disk.failing(kind), pytest.raises(LogFailed):
            async with Conversation(AGENT, tmp_path, runtime=runtime, id="c"):
                pass
        assert list(conversations.iterdir()) == []
        with pytest.raises(ConversationMissing):
            async with Conversation(id="c", runtime=runtime):
                pass
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as live:
            await live.send_message("first")
            with disk.failing(kind), pytest.raises(LogFailed):
                await live.fork(id="f")
            assert [path.name for path in conversations.iterdir()] == ["c"]
            assert list((conversations / "c" / "forks").iterdir()) == []
            async with await live.fork(id="f") as fork:
                await fork.send_message("second")
