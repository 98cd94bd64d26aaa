"""Logs cut at every byte, or with a bit flipped: recovered as whole batches, or refused with file and line."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from itertools import accumulate, cycle, islice, pairwise
from pathlib import Path

import anyio
import msgspec
import pytest
import pytest_asyncio

from agentrt import LLM, Agent, Conversation, Event, ExecutionStatus, Runtime
from agentrt.codec import decode
from agentrt.errors import ConversationMissing, LogCorrupt
from agentrt.events import MessageEvent
from agentrt.specs.content import text
from agentrt.storage import FileStore, read_conversation
from agentrt.testing import ScriptedLLM, call, calls, finish
from tests import samples
from tests.storage.commits import append, reopen

from .evidence import check_numbering, results
from .worker import steps_taken

pytestmark = pytest.mark.simulated

NAME = "thinking"
AGENT = Agent(llm=LLM(model="scripted"), tools=(), checkpoints=False, system_prompt="Think.")
MESSAGE = MessageEvent(source="user", content=text("Go on."))
LANES = 8
"""Stores side by side, since each waits for its disk."""

LARGE = "One thing leads to another. " * 20


class Log(msgspec.Struct, frozen=True):
    """A log as it was written, and where its batches end."""

    data: bytes
    events: list[Event]
    batch_ends: list[int]
    """In bytes."""
    batch_seqs: list[int]
    """The last seq of each batch."""

    @property
    def lines(self) -> list[bytes]:
        return self.data.splitlines(keepends=True)

    def whole(self, length: int) -> int:
        """How many batches the first `length` bytes hold."""
        return sum(end <= length for end in self.batch_ends)

    def prefix(self, batches: int) -> tuple[list[Event], int]:
        """The events of the first batches, and their length in bytes."""
        return self.events[: ([0, *self.batch_seqs])[batches]], ([0, *self.batch_ends])[batches]


class Place(msgspec.Struct):
    i: int
    n: int


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A log of some 8 KB with events of every type."""
    root = tmp_path_factory.mktemp("log")
    events = samples.numbered(samples.every_event())
    sizes = cycle((2, 1, 3, 1, 4, 1))
    async with FileStore(root) as store:
        journal, rest = await store.create(NAME), iter(events)
        while batch := list(islice(rest, next(sizes))):
            await append(journal, batch)
    written = as_log(_path(root).read_bytes())
    assert {type(event) for event in written.events} == samples.all_types()
    assert 8_000 < len(written.data) < 20_000
    assert written.events == events
    return written


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """The log of a conversation that was run to its end."""
    root = tmp_path_factory.mktemp("run")
    runtime = Runtime(root, client=model())
    async with runtime, Conversation(AGENT, root, id=NAME, runtime=runtime) as conversation:
        await conversation.send_message("What follows?")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED
    return as_log(_path(root).read_bytes())


def as_log(data: bytes) -> Log:
    """A log's bytes, with their events and batches."""
    lines = data.splitlines(keepends=True)
    places = [msgspec.json.decode(line, type=Place) for line in lines]
    ends = list(accumulate(map(len, lines)))
    last = [number for number, place in enumerate(places) if place.i == place.n]
    assert len(last) > 8
    return Log(data, [decode(line) for line in lines], [ends[n] for n in last], [n + 1 for n in last])


def model() -> ScriptedLLM:
    """Thinks, twice at once in the end, and finishes; it goes on where the messages end."""
    steps = (
        call("think", thought=LARGE),
        call("think", thought="Hm — ja, genau. " * 10),
        calls(("think", {"thought": "This."}), ("think", {"thought": "That."})),
        finish("It follows."),
    )

    return ScriptedLLM(lambda request: steps[min(steps_taken(request), 3)], keep=False)


def _path(root: Path) -> Path:
    return root / "conversations" / NAME / "events.jsonl"


def put(root: Path, data: bytes) -> Path:
    """Make a store whose one conversation has this log, and nothing beside it."""
    path = _path(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in path.parent.iterdir():
        old.unlink()
    path.write_bytes(data)
    return path


def set_aside(path: Path) -> list[bytes]:
    """The tails that were set aside, oldest first."""
    return [tail.read_bytes() for tail in sorted(path.parent.glob("events.jsonl.torn-*"))]


async def check_cut(store: FileStore, log: Log, length: int, *, takes_more: bool = True) -> None:
    """A log that ends after `length` bytes opens as its whole batches; when asked, it takes more and opens again."""
    path = put(Path(store.places[0]), log.data[:length])
    expected, kept = log.prefix(log.whole(length))
    journal, events = await reopen(store, NAME)
    assert events == expected
    assert path.read_bytes() == log.data[:kept]
    assert set_aside(path) == ([log.data[kept:length]] if length > kept else [])
    if takes_more:
        await append(journal, [msgspec.structs.replace(MESSAGE, seq=len(expected) + 1)])
    await store.release(NAME)
    if takes_more:
        _, again = await reopen(store, NAME)
        await store.release(NAME)
        check_numbering(again)
        assert (again[:-1], again[-1].id) == (expected, MESSAGE.id)
        assert len(set_aside(path)) <= 1


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.long)])
def test_a_cut_log_is_read_as_whole_batches(log: Log, tmp_path: Path, step: int) -> None:
    path = put(tmp_path, log.data)
    edges = {end + near for end in log.batch_ends for near in (-1, 0, 1) if end + near <= len(log.data)}
    with path.open("r+b") as file:
        for length in sorted(edges | set(range(0, len(log.data) + 1, step)), reverse=True):
            file.truncate(length)
            assert read_conversation(path.parent) == log.prefix(log.whole(length))[0], length


async def test_a_cut_log_takes_more_with_its_tail_set_aside(log: Log, tmp_path: Path) -> None:
    first = log.batch_ends[0]
    edges = {end + near for end in log.batch_ends for near in (-1, 0, 1) if first <= end + near <= len(log.data)}
    async with FileStore(tmp_path) as store:
        for length in sorted(edges | set(range(first, len(log.data), 211))):
            await check_cut(store, log, length)


@pytest.mark.long
async def test_every_cut_log_takes_more_with_its_tail_set_aside(log: Log, tmp_path: Path) -> None:
    async def check(lane: int) -> None:
        async with FileStore(tmp_path / str(lane)) as store:
            for length in range(log.batch_ends[0] + lane, len(log.data) + 1, LANES):
                await check_cut(store, log, length, takes_more=length % 5 == 0)

    async with anyio.create_task_group() as tasks:
        for lane in range(LANES):
            tasks.start_soon(check, lane)


async def resume_and_finish(log: Log, root: Path, length: int) -> None:
    """A conversation whose log ends after `length` bytes runs to its end, and its log is valid."""
    path = put(root, log.data[:length])
    runtime = Runtime(root, client=model())
    async with runtime, Conversation(id=NAME, runtime=runtime) as conversation:
        await conversation.send_message("Go on.")
        assert (await conversation.run()).status is ExecutionStatus.FINISHED, length
    events = read_conversation(path.parent)
    check_numbering(events)
    results(events)
    assert events[: len(log.prefix(log.whole(length))[0])] == log.prefix(log.whole(length))[0]


async def test_a_cut_conversation_is_resumed(run: Log, tmp_path: Path) -> None:
    for start, end in pairwise(run.batch_ends):
        await resume_and_finish(run, tmp_path, (start + end) // 2)


@pytest.mark.long
async def test_a_conversation_cut_anywhere_is_resumed(run: Log, tmp_path: Path) -> None:
    for length in range(run.batch_ends[0], len(run.data), 13):
        await resume_and_finish(run, tmp_path, length)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.6, 0.999])
async def test_a_creation_that_was_cut_can_be_repeated(run: Log, tmp_path: Path, part: float) -> None:
    """Nothing of it was acknowledged: there is no conversation yet, and its name is free."""
    tail = run.data[: int(run.batch_ends[0] * part)]
    path = put(tmp_path, tail)
    runtime = Runtime(tmp_path, client=model())
    async with runtime:
        with pytest.raises(ConversationMissing):
            async with Conversation(id=NAME, runtime=runtime):
                pass
        async with Conversation(AGENT, tmp_path, id=NAME, runtime=runtime) as conversation:
            await conversation.send_message("What follows?")
            assert (await conversation.run()).status is ExecutionStatus.FINISHED
    check_numbering(read_conversation(path.parent))
    assert set_aside(path) == ([tail] if tail else [])


async def test_each_tail_is_kept(log: Log, tmp_path: Path) -> None:
    last, before = log.batch_ends[-2], log.batch_ends[-3]
    path = put(tmp_path, log.data[:-1])
    async with FileStore(tmp_path) as store:
        await store.open(NAME, lambda event: None)
        await store.release(NAME)
        path.write_bytes(log.data[: last - 1])
        await store.open(NAME, lambda event: None)
    assert path.read_bytes() == log.data[:before]
    assert set_aside(path) == [log.data[last:-1], log.data[before : last - 1]]
    assert not any(tail.stat().st_mode & 0o077 for tail in path.parent.glob("*.torn-*")), "as private as the log"


@pytest.mark.parametrize(
    "tail", [b"\0" * 4096, b"\n", b"{}\n", bytes(range(256))], ids=["zeros", "newline", "object", "bytes"]
)
async def test_a_tail_that_is_no_record_is_set_aside(log: Log, tmp_path: Path, tail: bytes) -> None:
    path = put(tmp_path, log.data + tail)
    async with FileStore(tmp_path) as store:
        _, events = await reopen(store, NAME)
    assert events == log.events
    assert path.read_bytes() == log.data
    assert set_aside(path) == [tail]


def flips(log: Log) -> Iterator[tuple[int, int]]:
    """The place of each bit: byte and bit."""
    return ((place, bit) for place in range(len(log.data)) for bit in range(8))


def check_read(directory: Path, log: Log, place: int) -> None:
    """A log that is damaged at `place` is refused with file and line; only its last batch can be a torn tail."""
    whole = log.whole(place)
    line = log.data[:place].count(b"\n") + 1
    if whole == len(log.batch_ends) - 1:
        assert read_conversation(directory) == log.prefix(whole)[0]
    else:
        with pytest.raises(LogCorrupt) as refused:
            read_conversation(directory)
        assert (refused.value.where, refused.value.line) == (directory / "events.jsonl", line)
        assert f"events.jsonl:{line}: " in str(refused.value)


async def check_opened(store: FileStore, log: Log, path: Path, place: int) -> None:
    """As `check_read` for an open that may write: it changes nothing of a log that it refuses."""
    damaged = path.read_bytes()
    if log.whole(place) < len(log.batch_ends) - 1:
        for _ in range(2):
            with pytest.raises(LogCorrupt):
                await store.open(NAME, lambda event: None)
        assert path.read_bytes() == damaged
        assert [found.name for found in path.parent.iterdir()] == ["events.jsonl"]
    else:
        expected, kept = log.prefix(len(log.batch_ends) - 1)
        _, found = await reopen(store, NAME)
        await store.release(NAME)
        assert found == expected
        assert path.read_bytes() == log.data[:kept]
        assert set_aside(path) == [damaged[kept:]]


async def test_a_flipped_bit_is_never_accepted(log: Log, tmp_path: Path) -> None:
    chosen = random.Random(8).sample(list(flips(log)), 300)
    chosen += [(end - 1, bit) for end in log.batch_ends for bit in (0, 5)]  # newlines: two records in a line
    async with FileStore(tmp_path) as store:
        for place, bit in chosen:
            damaged = bytearray(log.data)
            damaged[place] ^= 1 << bit
            path = put(tmp_path, bytes(damaged))
            check_read(path.parent, log, place)
            await check_opened(store, log, path, place)


@pytest.mark.long
def test_no_flipped_bit_is_ever_accepted(log: Log, tmp_path: Path) -> None:
    check_flips(put(tmp_path, log.data), log, flips(log))


@pytest.mark.parametrize("sampled", [30, pytest.param(20_000, marks=pytest.mark.long)])
async def test_flipped_bits_of_a_large_log(tmp_path: Path, sampled: int) -> None:
    log, chance = await large_log(tmp_path), random.Random(3)
    path, ends = _path(tmp_path), [0, *accumulate(map(len, log.lines))]
    small = [start + chance.randrange(end - start) for start, end in pairwise(ends) if end - start < 10_000]
    places = [
        chance.choice(small) if chance.random() < 0.3 else chance.randrange(len(log.data)) for _ in range(sampled)
    ]
    check_flips(path, log, ((place, chance.randrange(8)) for place in places))
    async with FileStore(tmp_path) as store:
        for place in (ends[3] - 1, ends[4] + 100, len(log.data) // 2, ends[-2] + 9, ends[-2] - 1):
            damaged = bytearray(log.data)
            damaged[place] ^= 4
            await check_opened(store, log, put(tmp_path, bytes(damaged)), place)


async def large_log(root: Path) -> Log:
    """3 MB, of which five records have the most, between many small ones."""
    sizes = [20] * 300
    for place in (7, 60, 61, 180, 298):
        sizes[place] = 600_000
    events = samples.numbered(
        [*samples.beginning(), *(samples.message(LARGE * (size // len(LARGE))) for size in sizes)]
    )
    async with FileStore(root) as store:
        journal = await store.create(NAME)
        for start in range(0, len(events), 2):
            await append(journal, events[start : start + 2])
    log = as_log(_path(root).read_bytes())
    assert 3_000_000 < len(log.data) < 3_300_000
    return log


def check_flips(path: Path, log: Log, chosen: Iterable[tuple[int, int]]) -> None:
    """Flip each of these bits alone, in place, and read the log."""
    with path.open("r+b", buffering=0) as file:
        for place, bit in chosen:
            os.pwrite(file.fileno(), bytes([log.data[place] ^ 1 << bit]), place)
            check_read(path.parent, log, place)
            os.pwrite(file.fileno(), log.data[place : place + 1], place)
    assert read_conversation(path.parent) == log.events


async def test_a_bit_flipped_after_opening_is_refused(log: Log, tmp_path: Path) -> None:
    """Events are read again when they are needed: each record is checked each time, and others stay readable."""
    path = put(tmp_path, log.data)
    ends = [0, *accumulate(map(len, log.lines))]
    async with FileStore(tmp_path) as store:
        journal, events = await reopen(store, NAME)
        with path.open("r+b", buffering=0) as file:
            for seq, (start, end) in enumerate(pairwise(ends), 1):
                for place in (start, (start + end) // 2, end - 12, end - 1):
                    os.pwrite(file.fileno(), bytes([log.data[place] ^ 1 << place % 8]), place)
                    with pytest.raises(LogCorrupt) as refused:
                        await journal.load([seq])
                    assert (refused.value.where, refused.value.line) == (path, seq)
                    with pytest.raises(LogCorrupt):
                        [event async for event in journal.read(0, len(events))]
                    others = [other for other in range(1, len(events) + 1) if other != seq]
                    assert await journal.load(others) == [event for event in events if event.seq != seq]
                    os.pwrite(file.fileno(), log.data[place : place + 1], place)
            file.truncate(ends[-1] - 1)
            with pytest.raises(LogCorrupt):
                await journal.load([len(events)])
