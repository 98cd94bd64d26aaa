"""Opening by a memo gives what folding the log does."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentrt.decisions import recovery
from agentrt.errors import LogCorrupt
from agentrt.events import DurabilityChanged, Event
from agentrt.listing import DAMAGED
from agentrt.specs import Durability
from agentrt.state import State, fold
from agentrt.storage import FileStore, read_conversation
from agentrt.storage.catalogue import Catalogue
from agentrt.storage.checking import repair, verify
from agentrt.storage.memos import MEMO
from agentrt.storage.pages import parts_of, read_created, read_state
from agentrt.storage.rows import read_row
from agentrt.storage.salvaging import salvage
from tests import samples
from tests.stores import directory

from .commits import append
from .logs import write_log

pytestmark = pytest.mark.simulated


async def opened(root: Path) -> tuple[State, int]:
    """The state after an opening, and how many events had to be folded for it."""
    state, replayed = State(), list[Event]()

    def recall(stored: State) -> None:
        nonlocal state
        state = stored

    async with FileStore(root) as store:
        await store.open("c", replayed.append, recall)
    return fold(replayed, state), len(replayed)


async def let_go(root: Path, durability: Durability | None = None) -> Path:
    """A conversation with every type of event that was let go; its directory. `durability` is that of its end, by
    default that of the samples.
    """
    changed = [] if durability is None else [DurabilityChanged(durability=durability, epoch=2)]
    events = samples.numbered([*samples.every_event(), *changed, *[samples.message("last")] * (2 if changed else 0)])
    async with FileStore(root) as store:
        journal = await store.create("c")
        for event in events:
            await append(journal, [event])
        await store.release("c", fold(events))
        return directory(store, "c")


async def test_nothing_is_folded_again(tmp_path: Path) -> None:
    directory = await let_go(tmp_path)
    assert await opened(tmp_path) == (fold(read_conversation(directory)), 0)


async def test_what_came_after_the_memo_is_folded(tmp_path: Path) -> None:
    directory = await let_go(tmp_path)
    count = len(read_conversation(directory))
    async with FileStore(tmp_path) as store:
        journal = await store.open("c", lambda event: None)
        await append(journal, samples.numbered([samples.message("one"), samples.message("two")], count + 1))
    with (directory / "events.jsonl").open("ab") as file:
        file.write(b'{"i":1,"n":2')
    assert await opened(tmp_path) == (fold(read_conversation(directory)), 2)
    assert (directory / "events.jsonl.torn-1").read_bytes() == b'{"i":1,"n":2'


async def test_a_long_log_has_a_memo_while_it_is_written(tmp_path: Path) -> None:
    """A process that was killed leaves at most half of it to be folded."""
    async with FileStore(tmp_path) as store:
        journal, state = await store.create("c"), State()
        await append(journal, batch := samples.numbered(samples.beginning()))
        for _ in range(12):
            state = fold(batch, state)
            journal.remember(state)
            batch = samples.numbered([samples.message("on")] * 100, state.seq + 1)
            await append(journal, batch)
        state = fold(batch, state)
        await store.release("c")
    again, folded = await opened(tmp_path)
    assert again == state
    assert 0 < folded < state.seq // 2


async def test_a_damaged_memo_is_not_used(tmp_path: Path) -> None:
    directory = await let_go(tmp_path)
    state, data = fold(read_conversation(directory)), (directory / MEMO).read_bytes()
    chance = random.Random(4)
    for _ in range(40):
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        (directory / MEMO).write_bytes(damaged)
        assert await opened(tmp_path) == (state, state.seq)
    (directory / MEMO).write_bytes(data[: len(data) // 2])
    assert await opened(tmp_path) == (state, state.seq)


async def test_a_memo_of_another_log_is_not_used(tmp_path: Path) -> None:
    directory = await let_go(tmp_path)
    path = directory / "events.jsonl"
    count = len(read_conversation(directory))
    path.unlink()
    write_log(tmp_path, "c", *samples.beginning(), *[samples.message("other")] * count)
    assert await opened(tmp_path) == (fold(read_conversation(directory)), count + 2)


@pytest.mark.parametrize("left", [0, 1, 5, 69])
async def test_a_log_that_lacks_what_its_memo_knows_is_damaged(tmp_path: Path, left: int) -> None:
    directory = await let_go(tmp_path, Durability.COMMIT)
    path = directory / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:left]))
    why = f"ends with event {left}, though {MEMO} says that event {len(lines)}"
    with pytest.raises(LogCorrupt, match=why) as no:
        await opened(tmp_path)
    assert (no.value.line, no.value.after) == (left + 1, left)
    assert path.read_bytes() == b"".join(lines[:left]), "left as it is"
    verdict = verify(directory)
    assert verdict.damage is not None
    assert (verdict.damage.line, verdict.events) == (left + 1, left)
    (row,) = Catalogue(tmp_path).page()
    assert row.status == DAMAGED
    if left:
        epoch = fold(read_conversation(directory, left)).epoch
        repair(directory, force=True)
        assert (await opened(tmp_path))[0].epoch == epoch + 1, "clients that saw what is gone start over"
    else:
        with pytest.raises(LogCorrupt, match="nothing would remain"):
            repair(directory, force=True)


READERS: dict[str, tuple[int, Callable[[Path], object]]] = {
    "events": (0, read_conversation),
    "row": (0, lambda directory: read_row(directory, datetime.now(UTC), 1).status == DAMAGED),
    "verify": (0, lambda directory: verify(directory).damage is not None),
    "salvage": (1, lambda directory: salvage(directory).gaps),
    "parts": (1, parts_of),
    "state": (1, read_state),
    "created": (0, read_created),
}
"""The readers of a log, each with how often it reads a memo before the owner appends: these times there is none."""


@pytest.mark.parametrize("reader", READERS)
async def test_a_memo_that_is_written_while_a_log_is_read_is_no_witness_against_it(tmp_path: Path, reader: str) -> None:
    """The owner appends events and tells them in its memo at the very moment when a reader asks what the memo knows."""
    directory = await let_go(tmp_path, Durability.COMMIT)
    log, memo = directory / "events.jsonl", directory / MEMO
    whole, known, unused = log.read_bytes(), memo.read_bytes(), READERS[reader][0]
    start = b"" if reader == "created" else b"".join(whole.splitlines(keepends=True)[:5])
    log.write_bytes(start)
    memo.unlink()
    os.mkfifo(memo)

    def owner() -> None:
        for answer in [b""] * unused + [known]:
            with memo.open("wb") as pipe:  # a reader has opened it
                if answer:
                    log.write_bytes(whole)
                    (tmp_path / "next").write_bytes(known)
                else:
                    os.mkfifo(tmp_path / "next")
                os.rename(tmp_path / "next", memo)
                pipe.write(answer)

    thread = threading.Thread(target=owner, daemon=True)
    thread.start()
    found = READERS[reader][1](directory)
    while thread.is_alive():  # a reader that has asked only once
        memo.read_bytes()
    assert log.read_bytes() == whole
    if reader in ("row", "verify", "salvage"):
        assert not found


async def test_a_memo_that_is_left_of_a_removed_log_is_no_witness_against_a_new_one(tmp_path: Path) -> None:
    directory = await let_go(tmp_path)
    (directory / "events.jsonl").unlink()
    async with FileStore(tmp_path) as store:
        await append(await store.create("c"), samples.numbered(samples.beginning()))
    assert await opened(tmp_path) == (fold(read_conversation(directory)), 2)


async def test_damage_under_a_memo_is_refused_when_it_is_read(tmp_path: Path) -> None:
    directory = await let_go(tmp_path)
    path = directory / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b"deletes", b"DELETES", 1))
    async with FileStore(tmp_path) as store:
        journal = await store.open("c", lambda event: None, lambda state: None)
        with pytest.raises(LogCorrupt, match="is damaged"):
            [event async for event in journal.read(0, 99)]


async def test_under_a_weaker_durability_a_lost_tail_begins_a_new_epoch(tmp_path: Path) -> None:
    directory = await let_go(tmp_path, Durability.INTERVAL)
    path = directory / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert await opened(tmp_path) == (fold(read_conversation(directory)), len(lines) - 1)
    assert isinstance(recovery(fold(read_conversation(directory)))[0], DurabilityChanged)


@pytest.mark.parametrize("durability", [Durability.COMMIT, Durability.INTERVAL])
async def test_no_flipped_bit_is_accepted_under_a_memo(tmp_path: Path, durability: Durability) -> None:
    """Refused at the opening, or when the record is read; under a weaker durability, the last batch is cut."""
    directory = await let_go(tmp_path, durability)
    path = directory / "events.jsonl"
    events, data, chance = read_conversation(directory), path.read_bytes(), random.Random(6)
    last = data.rindex(b"\n", 0, -1) + 1
    async with FileStore(tmp_path) as store:
        for place in chance.sample(range(len(data)), 200):
            damaged = bytearray(data)
            damaged[place] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            try:
                journal = await store.open("c", lambda event: None, lambda state: None)
                read = [event async for event in journal.read(0, 99)]
            except LogCorrupt:
                assert place < last or durability is Durability.COMMIT
            else:
                assert place >= last
                assert durability is Durability.INTERVAL
                assert read == events[:-1]
            await store.release("c")
