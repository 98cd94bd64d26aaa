"""What every storage keeps to: one suite for those of files and the one in memory. A new one is added to `STORAGES`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec
import pytest
from msgspec.structs import replace

from agentrt.codec import decode, encode
from agentrt.errors import (
    ConfigurationError,
    ConversationExists,
    ConversationMissing,
    EventRefused,
    LogCorrupt,
    LogFailed,
    LogLocked,
    VersionConflict,
)
from agentrt.events import SCHEMA_VERSION, Event, MessageEvent, PauseEvent, RunRequested
from agentrt.listing import CRASHED, RUNNING, Filter
from agentrt.snapshot import snapshot
from agentrt.specs import BlobReference
from agentrt.specs.content import plain
from agentrt.state import State, fold
from agentrt.storage import FileStore, MemoryStorage
from agentrt.storing import History, Journal, Storage, Wanted, replaced
from tests import samples
from tests.proofs.waiting import eventually

from .commits import append
from .logs import created

pytestmark = pytest.mark.simulated

STORAGES: dict[str, Callable[[Path], Storage]] = {
    "files": FileStore,
    "lazy files": lambda root: FileStore(root, lazy=True),
    "memory": lambda root: MemoryStorage(),
}


@pytest.fixture(params=STORAGES)
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Storage]:
    made = STORAGES[request.param](tmp_path / "store")
    async with made:
        yield made


def events_of(name: str, *said: str | Event, owner: str | None = None) -> list[Event]:
    """The numbered events of a conversation in which a user says something."""
    events = [samples.message(each) if isinstance(each, str) else each for each in said]
    return samples.numbered([*created(name, owner=owner), *events])


async def write(storage: Storage, name: str, *said: str | Event, owner: str | None = None) -> list[Event]:
    """A conversation that is not open."""
    events = events_of(name, *said, owner=owner)
    await append(await storage.create(name), events)
    await storage.release(name, fold(events))
    return events


async def write_later(storage: Storage, name: str, before: datetime) -> datetime:
    """Begin a conversation, or go on with it, until the clock by which it is listed has moved; when that was."""
    try:
        journal = await storage.create(name)
        await append(journal, events_of(name))
    except ConversationExists:
        journal = await storage.open(name, lambda event: None)
    while True:
        events = await all_of(storage.history(name))
        more = samples.numbered([samples.message("more")], len(events) + 1)
        await append(journal, more)
        if (now := await storage.history(name).updated()) > before:
            await storage.release(name, fold([*events, *more]))
            return now


async def opened(storage: Storage, name: str) -> tuple[Journal, list[Event]]:
    """A journal, and all that can be read of it."""
    journal = await storage.open(name, lambda event: None)
    return journal, [event async for event in journal.read(0, 1 << 40)]


async def all_of(history: History, after: int = 0, upto: int | None = None) -> list[Event]:
    return [event async for event in history.read(after, upto)]


async def ids(storage: Storage, wanted: Filter = Filter()) -> list[str]:
    return [row.id for row in await storage.listing.page(99, None, wanted)]


async def test_what_was_written_is_read_back_when_it_is_opened_again(storage: Storage) -> None:
    written = await write(storage, "c", *map(str, range(600)))
    journal, read = await opened(storage, "c")
    assert read == written
    assert [event async for event in journal.read(3, 6)] == written[3:6]
    assert await journal.load([1, 4, 602]) == [written[0], written[3], written[601]]
    (more,) = samples.numbered([samples.message("on")], 603)
    await append(journal, [more])
    assert await journal.load([603]) == [more]
    assert journal.size >= sum(len(encode(event)) for event in (*written, more))


async def test_an_id_is_taken_once(storage: Storage) -> None:
    await write(storage, "c")
    with pytest.raises(ConversationExists):
        await storage.create("c")
    await storage.open("c", lambda event: None)
    with pytest.raises(ConversationExists):
        await storage.create("c")
    for name in ("../c", "", "a/b", ".hidden", "x" * 200):
        for use in (storage.history, storage.where):
            with pytest.raises(ConfigurationError, match="not a conversation id"):
                use(name)
        with pytest.raises(ConfigurationError, match="not a conversation id"):
            await storage.create(name)


async def test_a_conversation_is_there_with_its_first_batch(storage: Storage) -> None:
    await storage.create("c")
    assert await ids(storage) == []
    with pytest.raises(ConversationMissing):
        await storage.history("c").created()
    await storage.release("c")
    with pytest.raises(ConversationMissing):
        await storage.open("c", lambda event: None)
    assert await write(storage, "c") == await all_of(storage.history("c")), "and its name is free until then"
    assert storage.where("c")


async def test_it_has_one_writer(storage: Storage) -> None:
    await write(storage, "c")
    await storage.open("c", lambda event: None)
    for refused in (storage.open("c", lambda event: None), storage.delete("c")):
        with pytest.raises(LogLocked):
            await refused
    await storage.release("c")
    await storage.release("c")
    await storage.open("c", lambda event: None)


async def test_what_is_not_there_is_missing(storage: Storage) -> None:
    history = storage.history("nobody")
    for asked in (
        storage.open("nobody", lambda event: None),
        storage.fork("nobody", "fork", 1, lambda event: None),
        storage.delete("nobody"),
        history.created(),
        history.last(),
        history.page(Wanted(0, 99), 9),
        history.state(),
        history.updated(),
        history.fetch("0" * 64),
        all_of(history),
    ):
        with pytest.raises(ConversationMissing):
            await asked
    assert await history.task() == ""
    await write(storage, "fork")


async def test_batches_are_acknowledged_in_their_order_and_not_before_the_call_returns(storage: Storage) -> None:
    journal, told = await storage.create("c"), list[int]()
    events = events_of("c", *map(str, range(50)))
    for event in events:

        def then(error: LogFailed | None, seq: int = event.seq) -> None:
            assert error is None
            told.append(seq)

        journal.append([event], then)
        assert event.seq not in told
    await storage.release("c")
    assert told == list(range(1, len(events) + 1))


async def test_a_state_may_come_in_place_of_the_events(storage: Storage) -> None:
    written, state = await write(storage, "c", "one", "two"), State()
    replayed = list[Event]()
    await storage.open("c", replayed.append)
    assert fold(replayed) == fold(written)
    await storage.release("c", fold(written))

    def recall(stored: State) -> None:
        nonlocal state
        state = stored

    journal = await storage.open("c", lambda event: pytest.fail("all of it is in the state"), recall)
    assert state == fold(written)
    journal.remember(state)


async def test_a_journal_that_was_released_takes_nothing(storage: Storage) -> None:
    journal = await storage.create("c")
    await append(journal, events_of("c"))
    await storage.release("c")
    with pytest.raises(LogFailed, match="released"):
        await append(journal, samples.numbered([samples.message("late")], 3))
    assert await storage.history("c").last() == 2


async def test_who_leaves_takes_it_from_nobody(storage: Storage) -> None:
    journal, events = await storage.create("c"), events_of("c", "still there")
    async with storage:
        pass
    await append(journal, events)
    assert await all_of(storage.history("c")) == events


async def test_what_comes_while_it_is_released_is_refused_after_what_came_before(storage: Storage) -> None:
    journal, told = await storage.create("c"), list[tuple[int, bool]]()
    events = events_of("c", "one", "two", "three")
    for number, event in enumerate(events):
        journal.append([event], lambda error, number=number: told.append((number, error is None)))  # type: ignore[misc]
    async with anyio.create_task_group() as group:
        group.start_soon(storage.release, "c")
        await anyio.lowlevel.checkpoint()
        journal.append(samples.numbered([samples.message("late")], 9), lambda error: told.append((9, error is None)))
    await eventually(lambda: len(told) == len(events) + 1, "what became of each batch")
    assert told == [*((number, True) for number in range(len(events))), (9, False)]


async def test_leaving_the_storage_releases_what_is_open(storage: Storage) -> None:
    async with storage if isinstance(storage, MemoryStorage) else MemoryStorage() as inner:
        await append(await inner.create("inner"), events_of("inner"))
    journal = await storage.create("c")
    await append(journal, events_of("c"))
    await journal.sync()
    await storage.__aexit__(None, None, None)
    async with storage:
        await storage.open("c", lambda event: None)
    await storage.__aenter__()


async def test_a_fork_shares_the_first_events_with_its_parent(storage: Storage) -> None:
    written = await write(storage, "c", "one", "two", "three")
    shared = list[Event]()
    journal = await storage.fork("c", "f", 3, shared.append)
    assert [event.seq for event in shared] == [1, 2, 3]
    own = samples.numbered(created("f", parent="c"), 4)
    await append(journal, own)
    assert [event async for event in journal.read(0, 99)] == [*written[:3], *own]
    assert journal.size < sum(len(encode(event)) for event in written), "what is shared is not its own"
    for _ in range(2):
        history = storage.history("f")
        assert await all_of(history) == [*written[:3], *own]
        assert (await history.created()).parent == "c"
        assert await history.last() == 5
        assert await history.event(2) == await storage.history("c").event(2)
        await storage.release("f")
    assert (await opened(storage, "f"))[1] == [*written[:3], *own]
    assert await all_of(storage.history("c")) == written


async def test_a_fork_outlives_its_parent_with_all_that_it_shares(storage: Storage) -> None:
    parent = await storage.create("c")
    written = events_of("c", "one", "two")
    await append(parent, written)
    blob = await parent.keep(b"a long output", "output")
    fork = await storage.fork("c", "f", 3, lambda event: None)
    own = samples.numbered(created("f", parent="c"), 4)
    await append(fork, own)
    assert await fork.fetch(blob) == b"a long output"
    for name in ("c", "f"):
        await storage.release(name)
    await storage.delete("c")
    with pytest.raises(ConversationMissing):
        await all_of(storage.history("c"))
    with pytest.raises(ConversationMissing):
        await storage.open("c", lambda event: None)
    assert await ids(storage) == ["f"]
    history = storage.history("f")
    assert await all_of(history) == [*written[:3], *own]
    assert await history.fetch(blob.sha256) == b"a long output"
    await storage.delete("f")
    assert await ids(storage) == []


async def test_what_cannot_be_forked_leaves_nothing(storage: Storage) -> None:
    await write(storage, "c")
    await write(storage, "taken")
    with pytest.raises(EventRefused, match="no event 9"):
        await storage.fork("c", "f", 9, lambda event: None)
    with pytest.raises(ConversationExists):
        await storage.fork("c", "taken", 1, lambda event: None)
    with pytest.raises(ConfigurationError, match="not a conversation id"):
        await storage.fork("c", "../f", 1, lambda event: None)
    await write(storage, "f")


async def test_a_name_is_free_again_once_it_is_deleted(storage: Storage) -> None:
    await write(storage, "c", "old")
    await storage.delete("c")
    with pytest.raises(ConversationMissing):
        await storage.delete("c")
    written = await write(storage, "c", "new")
    assert await all_of(storage.history("c")) == written


@pytest.mark.parametrize("open_", [True, False])
async def test_a_history_shows_what_was_acknowledged(storage: Storage, open_: bool) -> None:
    written = events_of("c", "one\nmore", "two", PauseEvent(source="user", reason="wait"), samples.answer("done"))
    journal = await storage.create("c")
    await append(journal, written)
    if not open_:
        await storage.release("c", fold(written))
    history = storage.history("c")
    assert await history.created() == written[0]
    assert await history.last() == len(written)
    assert await all_of(history) == written
    assert await all_of(history, 2, 4) == written[2:4]
    for at in (None, 0, 3, len(written)):
        assert await history.state(at) == fold(written[:at])
    assert await history.event(3) == encode(written[2])
    for seq in (-1, 0, 99):
        assert await history.event(seq) is None
    assert await history.last_word() == written[4]
    assert await history.task() == "one"
    assert await history.snapshot() == (None if open_ else snapshot(fold(written)))
    before = await history.updated()
    if open_:
        (more,) = samples.numbered([RunRequested()], 7)
        await append(journal, [more])
        assert await storage.history("c").last() == 7
        assert await storage.history("c").last_word() == more
        assert await storage.history("c").updated() >= before


async def pages(history: History, wanted: Wanted, limit: int) -> list[Event]:
    """All that is wanted, a page after the other."""
    found = list[Event]()
    while True:
        page = await history.page(wanted, limit)
        assert len(page.events) <= limit
        found += (decode(bytes(event), SCHEMA_VERSION) for event in page.events)
        if page.next is None:
            return found
        wanted = replace(wanted, **{"before" if wanted.backwards else "after": page.next})


TIMES = [samples.message("x").timestamp + timedelta(days=day) for day in range(3)]

FILTERS: list[tuple[Wanted, Callable[[Event], bool]]] = [
    (Wanted(0, 99), lambda event: True),
    (Wanted(2, 5), lambda event: 2 < event.seq < 5),
    (Wanted(-5, 3), lambda event: event.seq < 3),
    (Wanted(99, 200), lambda event: False),
    (Wanted(0, 99, types=frozenset({"MessageEvent"})), lambda event: isinstance(event, MessageEvent)),
    (Wanted(0, 99, source="agent"), lambda event: event.source == "agent"),
    (Wanted(0, 99, since=TIMES[1]), lambda event: event.timestamp >= TIMES[1]),
    (Wanted(0, 99, until=TIMES[1]), lambda event: event.timestamp < TIMES[1]),
    (
        Wanted(0, 99, text="PELICAN"),
        lambda event: isinstance(event, MessageEvent) and "pelican" in plain(event.content).casefold(),
    ),
]


@pytest.mark.parametrize(("wanted", "fits"), FILTERS)
async def test_pages_and_counts_are_of_what_is_wanted(
    storage: Storage, wanted: Wanted, fits: Callable[[Event], bool]
) -> None:
    said = [replace(samples.message(words), timestamp=time) for words, time in zip("abc", TIMES, strict=True)]
    written = await write(storage, "c", *said, "A pelican.", samples.answer("The Pelican?"))
    history = storage.history("c")
    expected = [event for event in written if fits(event)]
    for limit in (1, 3, 99):
        assert await pages(history, wanted, limit) == expected
        assert await pages(history, replace(wanted, backwards=True), limit) == expected[::-1]
    tally = await history.count(wanted)
    assert (tally.count, tally.next) == (len(expected), None)


async def test_conversations_are_listed_those_written_last_first(storage: Storage) -> None:
    before = samples.message("x").timestamp - timedelta(days=1)
    for name in ("b", "a", "c", "b"):
        before = await write_later(storage, name, before)
    assert await ids(storage) == ["b", "c", "a"]
    first = await storage.listing.page(2)
    (last,) = await storage.listing.page(2, first[-1].mark)
    assert [*(row.id for row in first), last.id] == ["b", "c", "a"]
    assert await storage.listing.page(2, last.mark) == []
    assert await storage.listing.count() == await storage.listing.count(Filter()) == 3
    history = storage.history("c")
    assert (first[1].updated, first[1].events) == (await history.updated(), await history.last())


async def test_a_row_says_what_the_log_says(storage: Storage) -> None:
    written = await write(storage, "c", "Fix the test.\nPlease.", owner="ada")
    (row,) = await storage.listing.page()
    state = fold(written)
    assert state.created is not None
    assert (row.title, row.owner, row.created) == ("Fix the test.", "ada", state.created.timestamp)
    assert (row.status, row.model, row.workspace) == (state.status, "scripted", state.created.workspace.path)
    assert row.bytes > 0


async def test_the_listing_is_filtered(storage: Storage) -> None:
    await write(storage, "a", "Straße", owner="ada")
    await write(storage, "b", "road", owner="ada")
    await write(storage, "c", "STRASSE", owner="bob")
    listing = storage.listing
    for wanted, expected in (
        (Filter(owner="ada"), {"a", "b"}),
        (Filter(query="strasse"), {"a", "c"}),
        (Filter(query="strasse", owner="bob"), {"c"}),
        (Filter(query="b"), {"b"}),
        (Filter("idle"), {"a", "b", "c"}),
        (Filter("finished"), set()),
        (Filter(tags={"team": "core"}), set()),
    ):
        assert set(await ids(storage, wanted)) == expected
        assert await listing.count(wanted) == len(expected)
        assert len(await listing.page(1, None, wanted)) == min(len(expected), 1)
    (run,) = samples.numbered([RunRequested()], 4)
    await append((await opened(storage, "a"))[0], [run])
    live = {"a": fold([*events_of("a", "Straße"), run, *samples.numbered([PauseEvent(source="user")], 5)])}
    assert [row.id for row in await listing.page(9, None, Filter("paused"), live.get)] == ["a"]
    assert await listing.count(Filter("paused"), live.get) == 1
    assert await ids(storage, Filter("paused")) == []


async def test_what_runs_and_is_not_open_has_crashed(storage: Storage) -> None:
    written = await write(storage, "c", "go", RunRequested())
    assert fold(written).status == RUNNING
    assert await ids(storage, Filter(CRASHED)) == ["c"]
    assert await ids(storage, Filter(RUNNING)) == []
    await storage.open("c", lambda event: None)
    assert await ids(storage, Filter(RUNNING)) == ["c"]


async def test_what_was_said_is_found(storage: Storage) -> None:
    await write(storage, "a", "the exit code was 3", samples.answer("A pelican, a Pelican!"), owner="ada")
    await write(storage, "b", "no pelican here, and a code of exit", owner="bob")
    listing, told = storage.listing, list[tuple[int, int]]()

    async def found(
        words: str, limit: int = 9, *, newest: bool = False, owner: str | None = None
    ) -> list[tuple[str, int]]:
        hits = await listing.search(words, limit, newest=newest, owner=owner, progress=lambda *done: told.append(done))
        for hit in hits:
            assert hit.matches
            assert all(hit.text[start:stop].strip() for start, stop in hit.matches)
        return [(hit.conversation, hit.seq) for hit in hits]

    assert set(await found("PELICAN")) == {("a", 4), ("b", 3)}
    assert await found('"exit code"') == [("a", 3)]
    assert set(await found("exit code")) == {("a", 3), ("b", 3)}
    assert set(await found("peli*")) == {("a", 4), ("b", 3)}
    assert await found("peli") == []
    assert await found("pelican", newest=True) == [("b", 3), ("a", 4)]
    assert len(await found("pelican", 1)) == 1
    assert await found("pelican", owner="ada") == [("a", 4)]
    within = await listing.search("pelican", within=lambda created: created.conversation_id == "b")
    assert [hit.conversation for hit in within] == ["b"]
    assert await listing.search("pelican", within=lambda created: False) == []
    (hit,) = await listing.search("here")
    assert (hit.kind, [hit.text[start:stop] for start, stop in hit.matches]) == ("user", ["here"])
    with pytest.raises(ConfigurationError, match="nothing to search for"):
        await listing.search("...")
    await storage.delete("a")
    assert await found("pelican") == [("b", 3)], "what is deleted is forgotten"
    journal = await storage.fork("b", "f", 3, lambda event: None)
    await append(journal, samples.numbered([*created("f", parent="b"), samples.message("a pelican")], 4))
    await storage.release("f")
    assert set(await found("pelican")) == {("b", 3), ("f", 6)}, "what a fork shares is found once"


async def test_blobs_are_kept_by_their_hash(storage: Storage) -> None:
    journal = await storage.create("c")
    await append(journal, events_of("c"))
    before = journal.size
    blob = await journal.keep(b"all of it", "output", "text/plain")
    assert (blob.size, blob.name, blob.media_type) == (9, "output", "text/plain")
    assert await journal.keep(b"all of it", "output", "text/plain") == blob
    assert journal.size >= before + 9
    assert await journal.fetch(blob) == b"all of it"
    history = storage.history("c")
    assert await history.fetch(blob.sha256) == b"all of it"
    for missing in ("0" * 64, "../c", ""):
        assert await history.fetch(missing) is None
    with pytest.raises(LogCorrupt, match="missing"):
        await journal.fetch(BlobReference(sha256="0" * 64, size=1, name="x"))
    await storage.release("c")
    assert await (await opened(storage, "c"))[0].fetch(blob) == b"all of it"


@pytest.mark.parametrize("kind", ["rules", "notes"])
async def test_a_document_is_replaced_only_by_one_who_saw_it(storage: Storage, kind: str) -> None:
    shelf = storage.shelf
    assert await shelf.get(kind, "a") is None
    assert await shelf.names(kind) == []
    first = await shelf.put(kind, "a", b"1", 0)
    assert await shelf.get(kind, "a") == (b"1", first)
    second = await shelf.put(kind, "a", b"2", first)
    assert second not in (0, first)
    for stale in (0, first):
        with pytest.raises(VersionConflict):
            await shelf.put(kind, "a", b"3", stale)
    assert await shelf.get(kind, "a") == (b"2", second)
    await shelf.put(kind, "b", b"", 0)
    assert await shelf.names(kind) == ["a", "b"]
    assert await shelf.names("others") == []
    assert shelf.where(kind, "a") != shelf.where(kind, "b")
    for _ in range(2):
        await shelf.delete(kind, "a")
    assert await shelf.names(kind) == ["b"]
    await shelf.put(kind, "a", b"4", 0)


async def test_a_change_is_made_again_when_another_was_first(storage: Storage) -> None:
    shelf, seen = storage.shelf, list[bytes | None]()

    async def first() -> None:
        await replaced(shelf, "notes", "n", lambda data: (data or b"") + b"1")

    await first()
    held = await shelf.get("notes", "n")
    assert held is not None
    await first()
    with pytest.raises(VersionConflict):
        await shelf.put("notes", "n", b"stale", held[1])

    def change(data: bytes | None) -> bytes:
        seen.append(data)
        return (data or b"") + b"2"

    assert await replaced(shelf, "notes", "n", change) == b"112"
    assert seen == [b"11"]


async def test_the_keys_are_one_document(storage: Storage) -> None:
    assert await storage.shelf.get("keys", "keys") is None
    await storage.shelf.put("keys", "keys", msgspec.json.encode({"keys": []}), 0)
    assert await storage.shelf.names("keys") == ["keys"]


async def test_it_has_an_address_and_says_what_waits(storage: Storage) -> None:
    assert storage.address
    assert storage.waiting == 0
    places: Sequence[str] = storage.places
    assert all(Path(place).is_absolute() for place in places)
