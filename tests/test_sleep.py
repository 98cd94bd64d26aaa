"""Conversations that leave memory while nobody uses them, and come back."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import msgspec
import pytest

from agentrt import LLM, Agent, Conversation, Event, ExecutionStatus, Runtime, State, Tool, tool
from agentrt.codec import Line
from agentrt.conversation.local import LINES
from agentrt.errors import ConfigurationError, CursorExpired, EventRefused, LogCorrupt
from agentrt.events import Cursor, DurabilityChanged, ObservationEvent, ResourceLost
from agentrt.host.host import Host
from agentrt.specs import AlwaysConfirm, Durability
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.storage.memos import MEMO
from agentrt.storage.snapshots import SNAPSHOT
from agentrt.testing import ScriptedLLM, call, finish, say
from tests.proofs.waiting import eventually
from tests.stores import directory

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted"), tools=())


@tool
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello, {name}!"


TABLE = 1 << 16
"""Bytes: so large are only the tables of a whole process, which grow now and then."""

CAREFUL = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),), analyzer="rules", confirmation=AlwaysConfirm())
SHELL = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))


async def test_an_idle_conversation_sleeps_and_comes_back_with_the_next_message(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([say("one"), say("two")]))
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
        await conversation.send_message("first")
        await conversation.run()
        before = conversation.state
        assert await conversation.rest()
        assert conversation.state == State(
            seq=before.seq, status=before.status, answer=before.answer, ledger=conversation.state.ledger
        )
        assert conversation.state.ledger.usage == before.ledger.usage
        assert [event.seq async for event in conversation.events()] == list(range(1, before.seq + 1))
        assert [event.seq async for event in conversation.events(before.seq - 2)] == [before.seq - 1, before.seq]
        await conversation.send_message("second")
        assert conversation.state.branch.view[: len(before.branch.view)] == list(before.branch.view)
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


async def test_it_sleeps_by_itself(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([]), idle_after=0.0)
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
        with anyio.fail_after(30):
            while conversation.state.prompt is not None:
                await anyio.lowlevel.checkpoint()
        assert [event.seq for event in read_conversation(directory(runtime.store, "c"))] == [1, 2]


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


@pytest.mark.real
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


@pytest.mark.real
async def test_what_is_at_work_keeps_it_awake(tmp_path: Path) -> None:
    """A job in the background would end with the shell."""
    turns = [call("terminal", command="sleep 100 & echo started"), finish("It runs.")]
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM(turns))
    async with runtime, Conversation(SHELL, tmp_path, runtime=runtime) as conversation:
        await conversation.send_message("start it")
        await conversation.run()
        assert not await conversation.rest()
        assert conversation.state.prompt is not None


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory whose name takes little memory: it is in each stub."""
    with TemporaryDirectory(prefix="s", dir="/tmp") as made:
        yield Path(made)


@pytest.mark.long
async def test_a_sleeping_conversation_is_a_stub_of_two_kilobytes(short_path: Path) -> None:
    """Without a task or a descriptor."""
    runtime = Runtime(short_path / "store", client=ScriptedLLM([say("Hello.")] * 500, keep=False))
    async with runtime:

        async def lived() -> Conversation:
            conversation = Conversation(AGENT, short_path, runtime=runtime)
            await conversation.__aenter__()
            await conversation.send_message("hello")
            await conversation.run()
            assert await conversation.rest()
            return conversation

        before = [await lived() for _ in range(30)]
        descriptors, tasks = len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())
        gc.collect()
        tracemalloc.start()
        try:
            conversations = [await lived() for _ in range(400)]
            gc.collect()
            traces = tracemalloc.take_snapshot().traces
            traced = sum(trace.size for trace in traces if trace.size < TABLE) / len(conversations)
        finally:
            tracemalloc.stop()
        assert traced <= 2048
        assert len(os.listdir("/proc/self/fd")) < descriptors + 20, "none for each"
        assert len(asyncio.all_tasks()) < tasks + 20
        for conversation in (*before, *conversations):
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
    for cache in (SNAPSHOT, MEMO):  # written when it was left, which a process that is killed does not do
        (store / "conversations/c" / cache).unlink(missing_ok=True)
    (store / "conversations/c/events.jsonl").write_bytes(left)
    async with Runtime(store, client=ScriptedLLM([])) as runtime:
        async with Conversation(id="c", runtime=runtime) as conversation:
            assert (conversation.cursor.epoch, conversation.state.durability) == (1, Durability.COMMIT)
            with pytest.raises(CursorExpired, match="start over"):
                conversation.events(cursor)
            assert [event async for event in conversation.events(Cursor())]
    assert msgspec.json.decode(left.splitlines()[2])["durable"] == 0


@pytest.mark.real
async def test_what_waits_for_a_person_can_be_answered_after_a_sleep(tmp_path: Path) -> None:
    agent = Agent(llm=LLM(model="scripted"), tools=(), analyzer="rules", confirmation=AlwaysConfirm())
    turns = [call("greet", name="Ada"), call("greet", name="Bob"), finish("Done.")]
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM(turns))
    async with runtime, Conversation(agent, tmp_path, runtime=runtime, tools=[greet]) as conversation:
        await conversation.send_message("greet")
        await conversation.run()
        assert await conversation.rest()
        assert [waiting.action.tool_name for waiting in conversation.pending_confirmation] == ["greet"]
        await conversation.confirm()
        await conversation.run()
        assert await conversation.rest()
        await conversation.reject("not him")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


@asynccontextmanager
async def waiting_with_a_shell(place: Path) -> AsyncIterator[tuple[Conversation, Host]]:
    """A conversation whose shell has a variable and another directory, and whose next command waits for a person."""
    command = 'echo "[$FOO]" "$PWD"'
    turns = [call("terminal", command="export FOO=bar; cd /"), call("terminal", command=command), finish("Done.")]
    runtime = Runtime(place / "store", client=ScriptedLLM(turns))
    async with runtime, Conversation(CAREFUL, place, runtime=runtime) as conversation:
        await conversation.send_message("set it, then show it")
        await conversation.run()
        await conversation.confirm()
        await conversation.run()
        (host,) = runtime.hosts
        yield conversation, host


async def results(conversation: Conversation) -> list[str]:
    return [plain(event.content) async for event in conversation.events() if isinstance(event, ObservationEvent)]


@pytest.mark.real
async def test_who_waits_for_a_person_keeps_the_shell(tmp_path: Path) -> None:
    async with waiting_with_a_shell(tmp_path) as (conversation, host):
        await host.rest_if_due(0.0, 0.0, short=False)
        assert host.group is not None
        await conversation.confirm()
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        assert "[bar] /\n" in (await results(conversation))[-2]


@pytest.mark.real
async def test_what_was_approved_does_not_run_in_another_shell(tmp_path: Path) -> None:
    """Memory is short, so the shell had to go: the person is asked again, and told why."""
    async with waiting_with_a_shell(tmp_path) as (conversation, host):
        await host.rest_if_due(0.0, 0.0, short=True)
        assert host.group is None
        await conversation.confirm()
        assert (await conversation.run()).status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        assert [waiting.held for waiting in conversation.pending_confirmation] == ["lost:terminal"]
        assert len(await results(conversation)) == 1
        await conversation.confirm()
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
        assert "[] " + str(tmp_path) in (await results(conversation))[-2]


def dies_later(place: Path) -> str:
    """A command whose shell is killed once there is a file `go`; when it has ended, there is a file `gone`."""
    ended = "grep -q '^State:.Z' /proc/$$/status || [ ! -e /proc/$$ ]"
    waits = f"while [ ! -e {place}/go ]; do sleep 0.01; done; kill -9 $$; until {ended}; do sleep 0.01; done"
    return f"cd /; ({waits}; touch {place}/gone) &"


@pytest.mark.real
@pytest.mark.parametrize("known", [False, True])
async def test_what_was_approved_does_not_run_after_its_shell_has_died(tmp_path: Path, known: bool) -> None:
    """A job that it left in the background ends the shell while the person thinks; or the model was told before."""
    dies = "cd /; exit" if known else dies_later(tmp_path)
    turns = [call("terminal", command=dies), call("terminal", command="pwd"), finish("Done.")]
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM(turns))
    async with runtime, Conversation(CAREFUL, tmp_path, runtime=runtime) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        await conversation.confirm()
        await conversation.run()
        (tmp_path / "go").touch()
        await eventually(lambda: known or (tmp_path / "gone").exists(), "the shell has died")
        await conversation.confirm()
        state = await conversation.run()
        if not known:
            assert state.status is ExecutionStatus.WAITING_FOR_CONFIRMATION
            assert [waiting.held for waiting in conversation.pending_confirmation] == ["lost:terminal"]
            await conversation.confirm()
            state = await conversation.run()
        assert state.status is ExecutionStatus.FINISHED
        assert str(tmp_path) in (await results(conversation))[1]
        lost = [event async for event in conversation.events() if isinstance(event, ResourceLost)]
        assert len(lost) == (not known)


@pytest.mark.real
async def test_the_end_of_another_shell_does_not_stand_for_that_of_its_own(tmp_path: Path) -> None:
    """The model was told that one session has ended: it does not know of the other one."""
    turns = [
        call("terminal", command=dies_later(tmp_path), session="one"),
        call("terminal", command="exit", session="two"),
        call("terminal", command="pwd", session="one"),
        finish("Done."),
    ]
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM(turns))
    async with runtime, Conversation(CAREFUL, tmp_path, runtime=runtime) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        for _ in range(2):
            await conversation.confirm()
            await conversation.run()
        (tmp_path / "go").touch()
        await eventually((tmp_path / "gone").exists, "the shell has died")
        await conversation.confirm()
        assert (await conversation.run()).status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        assert [waiting.held for waiting in conversation.pending_confirmation] == ["lost:terminal"]
        assert len(await results(conversation)) == 2
        await conversation.confirm()
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


@pytest.mark.real
async def test_a_conversation_that_has_ended_gives_its_shell_back(tmp_path: Path) -> None:
    turns = [call("terminal", command="true"), finish("Done."), say("Again.")]
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM(turns))
    async with runtime, Conversation(SHELL, tmp_path, runtime=runtime) as conversation:
        await conversation.send_message("go")
        await conversation.run()
        (host,) = runtime.hosts
        await host.rest_if_due(600.0, 600.0, short=False)
        assert host.group is not None
        seen = anyio.Event()

        async def follow() -> None:
            async for _ in conversation.stream():
                seen.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await seen.wait()
            await host.rest_if_due(600.0, 0.0, short=False)
            assert host.group is not None, "somebody looks at it"
            tasks.cancel_scope.cancel()
        await host.rest_if_due(600.0, 0.0, short=False)
        assert host.group is None
        await conversation.send_message("once more")
        await conversation.run()
        assert [e.tool_name async for e in conversation.events() if isinstance(e, ResourceLost)] == ["terminal"]
        await host.rest_if_due(600.0, 0.0, short=False)
        assert host.group is not None, "it holds nothing"


async def test_whoever_comes_while_it_goes_to_sleep_finds_it_awake(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([]))
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
        for turn in range(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(conversation.rest)
                tasks.start_soon(conversation.rest)
                for _ in range(turn % 5):
                    await anyio.lowlevel.checkpoint()
                tasks.start_soon(conversation.send_message, f"message {turn}")
                tasks.start_soon(conversation.send_message, f"another {turn}")
        await conversation.send_message("last")
        assert sum(seen.type == "MessageEvent" for seen in conversation.state.branch.queued) == 61


@pytest.mark.parametrize("native", [True, False])
async def test_a_cancelled_rest_or_waking_leaves_it_usable(tmp_path: Path, native: bool) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([]))
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
        for turn in range(40):
            doing = conversation.rest() if turn % 2 else conversation.send_message("hello")
            if native:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(doing, turn / 10_000)
            else:
                with anyio.move_on_after(turn / 10_000):
                    await doing
            await conversation.send_message("again")
        assert not conversation.state.in_flight


async def test_after_it_was_left_it_does_not_wake(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "store", client=ScriptedLLM([])) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:
            assert await conversation.rest()
        with pytest.raises(ConfigurationError, match="was left"):
            await conversation.send_message("hello?")
        async with Conversation(id="c", runtime=runtime):
            pass


async def test_leaving_the_runtime_ends_those_who_follow(tmp_path: Path) -> None:
    seen: list[int] = []

    async def follow(conversation: Conversation) -> None:
        async for item in conversation.stream():
            if isinstance(item, Event):
                seen.append(item.seq)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            async with Runtime(tmp_path / "store", client=ScriptedLLM([])) as runtime:
                for rested in (True, False):
                    conversation = Conversation(AGENT, tmp_path, runtime=runtime)
                    await conversation.__aenter__()
                    tasks.start_soon(follow, conversation)
                    await anyio.wait_all_tasks_blocked()
                    if rested:
                        assert await conversation.rest()
    assert sorted(seen) == [1, 1, 2, 2]


async def test_a_cursor_beyond_the_end_is_refused(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([]))
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
        with pytest.raises(CursorExpired, match="ends with 2"):
            conversation.events(7)
        with pytest.raises(CursorExpired):
            await anext(conversation.stream(Cursor(0, 7)))


async def test_text_that_is_no_unicode_is_refused_and_nothing_else(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([say("Hello.")]))
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
        with pytest.raises(EventRefused, match="not valid Unicode"):
            await conversation.send_message("\ud800")
        await conversation.send_message("hello")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED


async def test_the_lines_of_one_that_sleeps_are_read_by_pages(tmp_path: Path) -> None:
    """The log is looked through for the first line, and for no other: its beginning may be damaged by then."""
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([]), durability=Durability.NONE)
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime) as conversation:
        for number in range(LINES + 20):
            await conversation.send_message(str(number))
        assert await conversation.rest()
        last, stream = conversation.state.seq, conversation.lines()
        lines = [await anext(stream)]
        with open(runtime.store.where(conversation.id), "r+b") as log:
            log.write(b"[")
        with pytest.raises(LogCorrupt):
            await runtime.store.history(conversation.id).last()
        lines += [await anext(stream) for _ in range(last - 1)]
    assert [item.seq for item in lines if isinstance(item, Line)] == list(range(1, last + 1))


async def test_the_json_of_events_is_that_of_their_lines_awake_and_asleep(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "store", client=ScriptedLLM([say("one"), say("two")]))
    async with runtime, Conversation(AGENT, tmp_path, runtime=runtime, id="c") as conversation:

        def written() -> list[bytes]:
            lines = (tmp_path / "store/conversations/c/events.jsonl").read_bytes().splitlines()
            return [b"{%b}" % line[line.index(b'"type":') : line.rindex(b',"crc":"')] for line in lines]

        stream, seen = conversation.lines(), list[bytes]()

        async def read() -> None:
            while len(seen) < conversation.state.seq:
                if isinstance(item := await anext(stream), Line):
                    seen.append(item.data)
            assert seen == written() == list(await conversation.page_json(0, 1000))

        await conversation.send_message("first")
        await read()
        await conversation.run()
        assert await conversation.rest()
        await read()
        await conversation.send_message("second")
        await read()
        await conversation.run()
        await read()
        assert list(await conversation.page_json(3, 2)) == seen[3:5]
