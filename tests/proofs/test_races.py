"""Two at once: a close beside a commit, two processes with one conversation, one blob from several calls."""

from __future__ import annotations

import threading
from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent, Conversation, Runtime
from agentrt.errors import ActorError, AgentrtError, ConversationExists, LogError, LogLocked
from agentrt.events import MessageEvent
from agentrt.specs.content import plain
from agentrt.storage import FileStore, read_conversation
from agentrt.testing import ScriptedLLM, say
from tests.stores import directory

from .evidence import Work, check_finished, check_numbering
from .waiting import eventually

pytestmark = pytest.mark.simulated

NAME = "shared"
AGENT = Agent(llm=LLM(model="scripted"), tools=(), system_prompt="Answer.")


class Gate:
    """A commit probe that holds the writer thread, at `point` of the first commit after `shut`, until `open`."""

    def __init__(self, point: str = "taken") -> None:
        self._point = point
        self._open = threading.Event()
        self._open.set()
        self.reached = False

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def __call__(self, point: str) -> None:
        if point == self._point and not self._open.is_set():
            self.reached = True
            self._open.wait(timeout=30)


def runtime(root: Path, gate: Gate | None = None) -> Runtime:
    return Runtime(root, client=ScriptedLLM(lambda request: say("Yes.")), probe=gate or Gate())


@pytest.mark.parametrize("point", ["taken", "written"])
async def test_a_closed_conversation_writes_nothing_more(tmp_path: Path, point: str) -> None:
    """A commit under way is written before the lock is free: after that the file belongs to the next one."""
    gate, leave = Gate(point), anyio.Event()

    async def first() -> None:
        async with Conversation(AGENT, tmp_path, id=NAME, runtime=slow) as conversation:
            gate.shut()
            tasks.start_soon(send, conversation)
            await leave.wait()

    async def send(conversation: Conversation) -> None:
        try:
            await conversation.send_message("from the first")
        except (LogError, ActorError):
            return  # it was closed first: the sender does not know

    async with runtime(tmp_path, gate) as slow, runtime(tmp_path) as other:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await eventually(lambda: gate.reached, "a commit under way")
            leave.set()
            await anyio.wait_all_tasks_blocked()
            try:
                with pytest.raises(LogLocked):
                    async with Conversation(id=NAME, runtime=other):
                        pass
            finally:
                gate.open()
        async with Conversation(id=NAME, runtime=other) as conversation:
            await conversation.send_message("from the second")
    events = read_conversation(tmp_path / "conversations" / NAME)
    check_numbering(events)
    said = [plain(event.content) for event in events if isinstance(event, MessageEvent)]
    assert said == ["from the first", "from the second"]


@pytest.mark.real
async def test_one_process_of_three_gets_a_conversation(tmp_path: Path) -> None:
    work, codes = Work(tmp_path), list[int]()

    async def compete() -> None:
        codes.append(await work.run())

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(compete)
    assert 0 in codes
    check_finished(work, ())


async def test_one_creator_of_many_wins(tmp_path: Path) -> None:
    refused: list[AgentrtError] = []

    async def create(number: int) -> None:
        async with runtime(tmp_path) as own:
            try:
                async with Conversation(AGENT, tmp_path, id=NAME, runtime=own) as conversation:
                    await conversation.send_message(str(number))
            except ConversationExists as error:
                refused.append(error)

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(create, number)
    events = read_conversation(tmp_path / "conversations" / NAME)
    check_numbering(events)
    assert (len(events), len(refused)) == (3, 11)


async def test_the_same_blob_from_several_calls(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store:
        journal = await store.create(NAME)
        directory(store, NAME).mkdir()
        for number in range(20):
            data = b"the same output\n" * 20_000 + bytes([number])
            kept = set[str]()

            async def keep(data: bytes = data, kept: set[str] = kept) -> None:
                kept.add((await journal.keep(data, "full output")).sha256)

            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(keep)
            (digest,) = kept
            assert (directory(store, NAME) / "blobs" / digest).read_bytes() == data
        assert len(list((directory(store, NAME) / "blobs").iterdir())) == 20
