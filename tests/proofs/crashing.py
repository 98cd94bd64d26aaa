"""Lives of a writer on a simulated disk, each ended by a crash or a kill, and what must be there after each."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from array import array
from collections.abc import Coroutine, Sequence
from functools import partial
from pathlib import Path
from random import Random

from msgspec.structs import replace

from agentrt.errors import ConversationMissing, LogFailed
from agentrt.events import Event, MessageEvent
from agentrt.specs import Durability
from agentrt.specs.content import text
from agentrt.storage import FileStore
from agentrt.storage.framing import scan
from agentrt.storage.journal import FileJournal, clear, settle
from agentrt.storage.reading import EVENTS, Part, read_log
from agentrt.storage.writer import FEW, Writer
from tests.storage.commits import append
from tests.storage.simulated_disk import SimulatedDisk
from tests.stores import directory

SIZES = (1, 1, 1, 10, 100, 400, 400, 3_000, 12_000)
"""Of messages, in characters."""

MESSAGES = [MessageEvent(source="user", content=text("x" * size)) for size in SIZES]


class SteppedWriter(Writer):
    """A writer that commits a group when it is told to, in this thread; its own has nothing to do."""

    def _run(self) -> None:
        pass

    def step(self, most: int) -> None:
        """Commit up to so many of the batches that wait."""
        waiting = self._given
        group = [batch for _ in range(min(most, waiting.qsize())) if (batch := waiting.get()) is not None]
        if group:
            self._commit(group)

    def sync_all(self) -> None:
        """What is done at intervals."""
        self._sync(self._dirty)

    def acknowledge(self) -> None:
        """Tell what was committed, as the event loop does."""
        self._acknowledge()

    def end(self) -> None:
        """Leave the loop, with nothing more written."""
        self._thread.join()
        self._loop.remove_reader(self._bell)
        os.close(self._bell)


class _Wait:
    """A call of a journal that waits for one future, run without a task."""

    def __init__(self, coroutine: Coroutine[asyncio.Future[object], None, None], seq: int) -> None:
        self.coroutine, self.seq = coroutine, seq
        self._future = coroutine.send(None)

    @property
    def done(self) -> bool:
        return self._future.done()

    def returned(self) -> bool:
        """Whether it returned, and did not fail."""
        try:
            self.coroutine.send(None)
        except StopIteration:
            return True
        except LogFailed:
            return False
        raise AssertionError("it waits again")


class Story:
    """One conversation, over all lives: what was sent to its log, and what it promised."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: list[list[Event]] = []
        self.acknowledged = 0
        """The last seq that was acknowledged."""
        self.safe = 0
        """The last seq that a sync or a close promised, whatever the durability."""
        self.failed = False
        self.closed = False
        self.journal: FileJournal | None = None
        self.waiting: list[_Wait] = []

    @property
    def seq(self) -> int:
        return sum(map(len, self.sent))

    def append(self, chance: Random) -> None:
        """Send a batch to the journal."""
        assert self.journal is not None
        size = chance.choice((1, 1, 1, 2, 3, 4))
        seqs = range(self.seq + 1, self.seq + size + 1)
        batch: list[Event] = [
            replace(chance.choice(MESSAGES), id=f"{self.name}-{chance.getrandbits(64):x}", seq=seq) for seq in seqs
        ]
        self.sent.append(batch)
        self.journal.append(batch, partial(self._committed, seqs[-1]))

    def _committed(self, seq: int, error: LogFailed | None) -> None:
        assert not self.failed or error is not None, "acknowledged after a failure"
        self.failed = error is not None
        if error is None:
            assert self.acknowledged < seq
            self.acknowledged = seq

    def wait(self, *, close: bool) -> None:
        """Begin to sync or close the journal."""
        assert self.journal is not None
        self.closed = self.closed or close
        self.waiting.append(_Wait(self.journal.close() if close else self.journal.sync(), self.seq))

    def look(self) -> None:
        """Note which of them have returned."""
        for wait in [wait for wait in self.waiting if wait.done]:
            self.waiting.remove(wait)
            if wait.returned() and not self.failed:
                self.safe = max(self.safe, wait.seq)

    def begin(self, parts: list[Part] | None, directory: Path, writer: Writer) -> None:
        """A new life."""
        self.failed = self.closed = False
        new = parts is None
        self.journal = FileJournal(directory, writer, parts or [Part(directory / EVENTS, 0, array("Q"))], new=new)

    def end(self) -> None:
        """The end of a life."""
        for wait in self.waiting:
            wait.coroutine.close()
        self.waiting.clear()


class Life:
    """A process that writes some conversations until the machine crashes, or someone kills it; seeded in all it does.

    It goes on from what the stories' journals hold; `end` says what the next one finds.
    """

    def __init__(self, root: Path, stories: Sequence[Story], durability: Durability, seed: str) -> None:
        self._stories, self._durability = stories, durability
        self._chance = chance = Random(seed)
        self.kill = chance.random() < (0.2 if durability is Durability.COMMIT else 0.5)
        most = 2 if len(stories) <= FEW else 12  # many: for one to meet the sync of all
        faults = {
            chance.randint(1, 90): chance.choice((errno.EIO, errno.ENOSPC)) for _ in range(chance.randint(0, most))
        }
        self.disk = SimulatedDisk(
            root,
            seed=seed,
            crash_at=int(chance.expovariate(0.03 if len(stories) <= FEW else 0.01)) + 1,
            faults=faults if chance.random() < 0.4 else {},
            short=chance.choice((0.0, 0.0, 0.3)),
            meanwhile=self._meanwhile,
        )
        self._writer = SteppedWriter(
            root, durability=durability, disk=self.disk, open_files=chance.choice((1, 3, 512, 512))
        )
        self._rate = chance.choice((0.1, 0.5))
        self._most = chance.choice((1, 4, 64))

    def begin(self, parts: dict[str, list[Part]]) -> None:
        """Open the journals, each with the parts that were read, or new."""
        for story in self._stories:
            story.begin(parts.get(story.name), self.disk.root / story.name, self._writer)

    def run(self) -> None:
        """Write until the end."""
        for _ in range(80):
            if self.disk.crashed:
                break
            self._act()
        self.disk.crash()
        self._writer.acknowledge()  # what was committed before the crash could have been told by then
        for story in self._stories:
            story.look()
            story.end()
        self._writer.end()

    def _act(self) -> None:
        match self._chance.randrange(10):
            case 0 if len(self._stories) > FEW:
                for story in self._stories:
                    self._append(story)
                self._writer.step(len(self._stories))
            case 0 | 1 | 2:
                for _ in range(self._chance.choice((1, 1, 2, 10))):
                    self._append()
            case 3 | 4 | 5 | 6:
                self._writer.step(self._chance.randint(1, self._most))
            case 7:
                self._writer.acknowledge()
            case 8 if self._durability is Durability.INTERVAL:
                self._writer.sync_all()
            case _:
                self._look_and_wait()

    def _meanwhile(self) -> None:
        """What the event loop does while the writer is in a system call."""
        if self._chance.random() < self._rate:
            self._append()
        if self._chance.random() < self._rate:
            self._writer.acknowledge()

    def _append(self, story: Story | None = None) -> None:
        story = story or self._chance.choice(self._stories)
        if not story.closed:
            story.append(self._chance)

    def _look_and_wait(self) -> None:
        story = self._chance.choice(self._stories)
        story.look()
        if not story.closed and self._chance.random() < 0.5:
            story.wait(close=self._chance.random() < 0.2)


class World:
    """A seed's conversations in a store, over some lives.

    They are recovered through the store, or by what the store calls, without its threads and its catalogue.
    """

    def __init__(self, store: FileStore, durability: Durability, seed: int, *, through_store: bool = True) -> None:
        self._store, self._durability, self._through_store = store, durability, through_store
        self._root = directory(store, "any").parent
        self._name = f"{durability.value}-{seed}"
        self._chance = Random(self._name)
        count = self._chance.choice((1, 1, 1, 1, 2, 2, 3, 4, FEW + 2, FEW + 4))
        self._stories = [Story(f"{self._name}-{number}") for number in range(count)]

    async def run(self) -> None:
        """Live and recover once or more, then write on with a real journal, and leave nothing behind."""
        try:
            parts: dict[str, list[Part]] = {}
            for number in range(self._chance.choice((1, 1, 1, 2, 3))):
                life = Life(self._root, self._stories, self._durability, f"{self._name}-{number}")
                life.begin(parts)
                life.run()
                if life.kill:
                    life.disk.materialize_killed(self._root)
                else:
                    life.disk.materialize(self._root)
                found = {story.name: await self._recover(story, life) for story in self._stories}
                parts = {name: parts for name, parts in found.items() if parts}
            if self._through_store:
                await self._write_on(self._chance.choice(self._stories))
        finally:
            for story in self._stories:
                shutil.rmtree(self._root / story.name, ignore_errors=True)

    async def _recover(self, story: Story, life: Life) -> list[Part] | None:
        """What is left is a prefix of what was sent, in whole batches, with all that was promised."""
        path = self._root / story.name / EVENTS
        sure = life.disk.certain(path)
        certain = sum(map(len, scan(sure.splitlines(keepends=True), path))) if sure else 0
        promised = max(story.safe, certain)
        if self._durability is Durability.COMMIT or life.kill:
            promised = max(promised, story.acknowledged)
        first = await self._open(story.name)
        if self._chance.random() < 0.5:
            again = await self._open(story.name, outlines=True)
            assert [event.id for event in first] == [event.id for event in again], "not the same when opened again"
        assert len(first) >= promised, f"{story.name}: {promised} events were promised, {len(first)} are left"
        kept: list[list[Event]] = []
        for batch in story.sent:
            if sum(map(len, kept)) == len(first):
                break
            kept.append(batch)
        story.sent, story.acknowledged, story.safe = kept, len(first), len(first)
        assert first == [event for batch in kept for event in batch], f"{story.name}: no prefix of what was sent"
        return read_log(path.parent, lambda event: None) if first else None

    async def _open(self, name: str, *, outlines: bool = False) -> list[Event]:
        seen: list[Event] = []
        if not self._through_store:
            _recover_here(self._root / name, seen)
            return seen
        try:
            journal = await self._store.open(name, seen.append)
        except ConversationMissing:
            await self._store.create(name)  # its name is free
        else:
            if not outlines:
                read = [event async for event in journal.read(0, 1 << 60)]
                assert [event.id for event in read] == [event.id for event in seen]
                seen = read
        await self._store.release(name)
        return seen

    async def _write_on(self, story: Story) -> None:
        """What is appended after the last recovery is there too."""
        if story.sent:
            journal = await self._store.open(story.name, lambda event: None)
        else:
            journal = await self._store.create(story.name)
        before = [event for batch in story.sent for event in batch]
        more: list[Event] = [replace(MESSAGES[0], seq=len(before) + 1)]
        await append(journal, more)
        await self._store.release(story.name)
        assert await self._open(story.name) == before + more


def _recover_here(directory: Path, seen: list[Event]) -> None:
    path = directory / EVENTS
    if path.exists():
        ends = read_log(directory, seen.append)[-1].ends
        if ends:
            settle(path, ends[-1])
        else:
            assert clear(path)
