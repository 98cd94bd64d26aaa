"""What a damaged log still shows."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentrt.errors import ConversationMissing, LogCorrupt
from agentrt.listing import Filter
from agentrt.storage import FileHistory, FileStore
from agentrt.storage.catalogue import Catalogue
from agentrt.storage.checking import verify
from agentrt.storage.framing import cut
from agentrt.storage.salvaging import salvage, salvaged_count, salvaged_page
from agentrt.storing import Gap, Wanted
from tests import samples

from .logs import conversation, created, write_log

pytestmark = pytest.mark.simulated

ALL = Wanted(0, 1 << 62)
RECORDS = 20


def log_of(root: Path, name: str = "c") -> Path:
    """A log of twenty records, in batches of one and of three."""
    path = conversation(root, name)
    seq = 2
    while seq < RECORDS:
        size = 3 if seq % 4 == 2 and seq + 3 <= RECORDS else 1
        write_log(root, name, *[samples.message(f"message {seq + n + 1}") for n in range(size)], after=seq)
        seq += size
    return path


def damage(path: Path, *lines: int) -> list[bytes]:
    """Change records, by their numbers; the records of before."""
    records = path.read_bytes().splitlines(keepends=True)
    changed = [bytes([line[0], line[1] ^ 1]) + line[2:] if n in lines else line for n, line in enumerate(records, 1)]
    path.write_bytes(b"".join(changed))
    return records


def log_with(root: Path, content: bytes) -> Path:
    """A log that no store has written."""
    path = root / "conversations" / "c" / "events.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def readings(store: FileStore) -> tuple[Awaitable[object], ...]:
    """All ways to begin to read it."""
    return store.history("c").created(), store.history("c").state(), store.open("c", print)


def shown(gaps: tuple[Gap, ...]) -> list[tuple[int, int | None]]:
    return [(gap.after, gap.before) for gap in gaps]


async def test_one_flipped_bit_hides_one_event(tmp_path: Path) -> None:
    path = log_of(tmp_path)
    records = damage(path, 2)
    history = FileHistory(path.parent)
    page = await history.page(ALL, 100)
    assert [bytes(event) for event in page.events] == [cut(line) for n, line in enumerate(records, 1) if n != 2]
    assert page.gaps == (Gap(1, 3, "line 2 is damaged"),)
    assert await history.event(2) is None
    assert await history.event(3) == cut(records[2])
    assert (await history.count(ALL)).count == RECORDS - 1
    assert (await history.created()).conversation_id == "c"
    with pytest.raises(LogCorrupt):
        [event async for event in history.read()]
    verdict = verify(path.parent)
    assert (verdict.damage is not None, verdict.events, verdict.beyond) == (True, 0, RECORDS - 1)


async def test_what_comes_before_the_damage_is_read_and_then_it_is_told(tmp_path: Path) -> None:
    path = log_of(tmp_path)
    damage(path, 12)
    seen = list[int]()
    with pytest.raises(LogCorrupt) as corrupt:
        async for event in FileHistory(path.parent).read():
            seen.append(event.seq)
    assert seen == list(range(1, (corrupt.value.after or 0) + 1))
    assert len(seen) in (9, 10, 11), "the batch of the damaged record begins there"
    assert (await FileHistory(path.parent).state(corrupt.value.after)).seq == len(seen)


def test_pages_name_each_gap_once(tmp_path: Path) -> None:
    path = log_of(tmp_path)
    damage(path, 1, 7, 8, 15)
    whole = salvaged_page(path.parent, ALL, 100)
    assert shown(whole.gaps) == [(0, 2), (6, 9), (14, 16)]
    for backwards in (False, True):
        events, gaps = list[bytes](), list[Gap]()
        after, before = 0, 1 << 62
        while True:
            page = salvaged_page(path.parent, Wanted(after, before, backwards), 3)
            events += map(bytes, page.events)
            gaps += page.gaps
            if page.next is None:
                break
            after, before = (after, page.next) if backwards else (page.next, before)
        assert events == [bytes(event) for event in (reversed(whole.events) if backwards else whole.events)]
        assert sorted(set(shown(tuple(gaps)))) == shown(whole.gaps)
    few = salvaged_page(path.parent, Wanted(9, 14), 100)
    assert ([bytes(event) for event in few.events], few.gaps) == ([bytes(event) for event in whole.events[6:10]], ())
    assert salvaged_count(path.parent, Wanted(0, 1 << 62, text="message 1")).count == 9


async def test_a_fork_shows_what_is_intact_of_both(tmp_path: Path) -> None:
    path = log_of(tmp_path)
    write_log(tmp_path, "f", *created("f", parent="c"), samples.message("on"), after=10)
    fork = tmp_path / "conversations" / "f"
    damage(path, 5, 15)
    found = salvage(fork)
    assert [record.seq for record in found.records] == [1, 2, 3, 4, *range(6, 14)]
    assert shown(tuple(found.gaps)) == [(4, 6)]
    path.unlink()
    assert shown((await FileHistory(fork).page(ALL, 100)).gaps) == [(0, 11)]


def test_a_torn_tail_is_no_gap_and_shows_nothing(tmp_path: Path) -> None:
    path = log_of(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"i":1,"n":2,"durable":20')
    found = salvage(path.parent)
    assert found.last == RECORDS
    assert shown(tuple(found.gaps)) == [(RECORDS, None)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sets(st.integers(1, RECORDS - 3), max_size=6))
def test_a_gap_is_exactly_what_is_damaged(tmp_path: Path, lines: set[int]) -> None:
    """However many records, as long as a later batch says that they were durable."""
    path = tmp_path / "conversations" / "c" / "events.jsonl"
    path.unlink(missing_ok=True)
    log_of(tmp_path)
    damage(path, *lines)
    found = salvage(path.parent)
    assert [record.seq for record in found.records] == [n for n in range(1, RECORDS + 1) if n not in lines]
    lost = [seq for gap in found.gaps for seq in range(gap.after + 1, gap.before or 0)]
    assert lost == sorted(lines)


@pytest.mark.parametrize(
    "garbage", [b"x", b"garbage\n" * 100, bytes(range(256)), b'{"i":2,"n":2', b"\x7fELF" + bytes(99)]
)
async def test_a_garbage_log_is_damage_and_no_missing_conversation(tmp_path: Path, garbage: bytes) -> None:
    path = log_with(tmp_path, garbage)
    async with FileStore(tmp_path) as store:
        for attempt in readings(store):
            with pytest.raises(LogCorrupt, match="does not begin as a log does"):
                await attempt
    assert verify(path.parent).damage is not None
    assert path.read_bytes() == garbage


@pytest.mark.parametrize("left", [b"", b"{", b'{"i":1,"n":2,"durable":0,"ty', bytes(700), bytes(512) + b'"seq":1'])
async def test_what_an_interrupted_creation_left_is_no_conversation(tmp_path: Path, left: bytes) -> None:
    log_with(tmp_path, left)
    async with FileStore(tmp_path) as store:
        for attempt in readings(store):
            with pytest.raises(ConversationMissing):
                await attempt
        assert (Catalogue(tmp_path).page(), Catalogue(tmp_path).count(Filter())) == ([], 0), "nor is it listed"
        await store.create("c")
