"""Conversations that leave memory while nobody uses them, and come back."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import msgspec
import pytest

from agentrt import LLM, Agent, Conversation, Event, ExecutionStatus, Runtime, State, Tool
from agentrt.errors import CursorExpired
from agentrt.events import Cursor, DurabilityChanged, ObservationEvent, ResourceLost
from agentrt.specs import Durability
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, call, finish, say

AGENT = Agent(llm=LLM(model="scripted"), tools=())
SHELL = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))


async def test_an_idle_conversation_sleeps_and_comes_back_with_the_next_message(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([say("one"), say("two")]))
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
        await conversation.send_message("first")
        await conversation.run()
        before = conversation.state
        assert await conversation.rest()
        assert conversation.state == State(seq=before.seq, status=before.status, ledger=conversation.state.ledger)
        assert conversation.state.ledger.usage == before.ledger.usage
        assert [event.seq async for event in conversation.events()] == list(range(1, before.seq + 1))
        assert [event.seq async for event in conversation.events(before.seq - 2)] == [before.seq - 1, before.seq]
        await conversation.send_message("second")
        assert conversation.state.branch.view[: len(before.branch.view)] == list(before.branch.view)
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


async def test_it_sleeps_by_itself(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([]), idle_after=0.0)
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
        with anyio.fail_after(5):
            while conversation.state.prompt is not None:
                await anyio.lowlevel.checkpoint()
        assert [event.seq for event in read_conversation(runtime.store.directory("c"))] == [1, 2]


async def test_a_follower_sees_everything_once_across_a_sleep(tmp_path: Path) -> None:
    seen: list[int] = []

    async def follow(conversation: Conversation) -> None:
        async for item in conversation.stream():
            if isinstance(item, Event):
                seen.append(item.seq)

    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([say("one"), say("two")]))
    async with runtime, anyio.create_task_group() as tasks:
        async with Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
            tasks.start_soon(follow, conversation)
            for words in ("first", "second"):
                await conversation.send_message(words)
                await conversation.run()
                assert await conversation.rest()
            last = conversation.state.seq
    assert seen == list(range(1, last + 1))


async def test_the_model_is_told_what_the_sleep_took(tmp_path: Path) -> None:
    turns = [call("terminal", command="export WORD=hello"), say("Set."), call("terminal", command="echo [$WORD]")]
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([*turns, finish("Gone.")]))
    async with runtime, Conversation(SHELL, tmp_path, runtime=runtime) as conversation:
        await conversation.send_message("set it")
        await conversation.run()
        assert await conversation.rest()
        await conversation.send_message("show it")
        await conversation.run()
        events = [event async for event in conversation.events()]
    assert [event.tool_name for event in events if isinstance(event, ResourceLost)] == ["terminal"]
    assert any("[]" in plain(event.content) for event in events if isinstance(event, ObservationEvent))


async def test_what_is_at_work_keeps_it_awake(tmp_path: Path) -> None:
    """A job in the background would end with the shell."""
    turns = [call("terminal", command="sleep 100 & echo started"), finish("It runs.")]
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM(turns))
    async with runtime, Conversation(SHELL, tmp_path, runtime=runtime) as conversation:
        await conversation.send_message("start it")
        await conversation.run()
        assert not await conversation.rest()
        assert conversation.state.prompt is not None


async def test_a_thousand_sleep_in_little_memory(tmp_path: Path) -> None:
    """Descriptors and tasks are given up; what stays is measured in benchmarks/."""
    descriptors = len(os.listdir("/proc/self/fd"))
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([]))
    async with runtime:
        conversations = [Conversation(AGENT, tmp_path, runtime=runtime) for _ in range(20)]
        async with anyio.create_task_group() as tasks:
            for conversation in conversations:
                tasks.start_soon(conversation.__aenter__)
        for conversation in conversations:
            assert await conversation.rest()
        assert len(os.listdir("/proc/self/fd")) < descriptors + 12
        for conversation in conversations:
            await conversation.__aexit__(None, None, None)


@pytest.mark.parametrize("durability", [Durability.INTERVAL, Durability.NONE])
async def test_weaker_durability_is_said_in_the_log(tmp_path: Path, durability: Durability) -> None:
    async with Runtime(tmp_path / "store", client=ScriptedLLM([]), durability=durability) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
            assert conversation.state.durability is durability
            await conversation.send_message("hello")
    changes = [e for e in read_conversation(tmp_path / "store/conversations/c") if isinstance(e, DurabilityChanged)]
    assert [(change.durability, change.epoch) for change in changes] == [(durability, 0), (Durability.COMMIT, 0)]


async def test_after_a_death_under_weaker_durability_a_new_epoch_begins(tmp_path: Path) -> None:
    store = tmp_path / "store"
    async with Runtime(store, client=ScriptedLLM([]), durability=Durability.INTERVAL) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
            await conversation.send_message("hello")
            cursor = conversation.cursor
            left = (store / "conversations/c/events.jsonl").read_bytes()
    (store / "conversations/c/events.jsonl").write_bytes(left)  # as a process leaves it that was killed here
    async with Runtime(store, client=ScriptedLLM([])) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            assert (conversation.cursor.epoch, conversation.state.durability) == (1, Durability.COMMIT)
            with pytest.raises(CursorExpired, match="start over"):
                conversation.events(cursor)
            assert [event async for event in conversation.events(Cursor())]
    assert msgspec.json.decode(left.splitlines()[2])["durable"] == 0
