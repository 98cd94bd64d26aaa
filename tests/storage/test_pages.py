from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt import codec
from agentrt.errors import ConversationMissing, LogCorrupt
from agentrt.events import Event, MessageEvent
from agentrt.specs.content import plain
from agentrt.state import fold
from agentrt.storage import FileStore
from agentrt.storage.pages import count_events, parts_of, read_created, read_page, read_state
from agentrt.storage.reading import Part
from agentrt.storage.store import read_conversation
from agentrt.storing import Wanted
from tests import samples
from tests.stores import directory

from .commits import append
from .logs import conversation, created

pytestmark = pytest.mark.simulated

BEGUN = datetime(2026, 3, 1, tzinfo=UTC)
SECONDS = st.integers(-5, 50).map(lambda seconds: BEGUN + timedelta(seconds=seconds))
KINDS = ("ConversationCreated", "SystemPromptEvent", "MessageEvent", "NoSuchEvent")


def said(root: Path, name: str = "c", count: int = 40, size: int = 1) -> Path:
    """A log of messages, some of a user and some of the agent."""
    words = ("x" * size + str(n) for n in range(count))
    events = (samples.message(word) if n % 3 else samples.answer(word) for n, word in enumerate(words))
    dated = (replace(event, timestamp=BEGUN + timedelta(seconds=n)) for n, event in enumerate(events))
    return conversation(root, name, *dated).parent


def read_all(parts: Sequence[Part], wanted: Wanted, limit: int, most: int = 10_000) -> list[bytes]:
    """All that is on the pages, each begun where the one before it ended."""
    found: list[bytes] = []
    while True:
        page = read_page(parts, wanted, limit, most)
        assert len(page.events) <= limit
        found += map(bytes, page.events)
        if page.next is None:
            return found
        after, before = (wanted.after, page.next) if wanted.backwards else (page.next, wanted.before)
        wanted = replace(wanted, after=after, before=before)


def count_all(parts: Sequence[Part], wanted: Wanted, most: int = 10_000) -> int:
    """How many there are, counted so many records at a time."""
    count = 0
    while True:
        found = count_events(parts, wanted, most)
        count += found.count
        if found.next is None:
            return count
        wanted = replace(wanted, after=found.next)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return said(tmp_path_factory.mktemp("pages"))


@given(
    after=st.integers(0, 50),
    before=st.integers(0, 50),
    backwards=st.booleans(),
    types=st.frozensets(st.sampled_from(KINDS)),
    source=st.sampled_from([None, "user", "agent", "hook"]),
    since=st.one_of(st.none(), SECONDS),
    until=st.one_of(st.none(), SECONDS),
    text=st.sampled_from(["", "X1", "2", "nowhere"]),
    limit=st.integers(1, 50),
    most=st.integers(1, 50),
)
def test_pages_joined_are_what_is_wanted(
    log: Path,
    after: int,
    before: int,
    backwards: bool,
    types: frozenset[str],
    source: str | None,
    since: datetime | None,
    until: datetime | None,
    text: str,
    limit: int,
    most: int,
) -> None:
    def fits(event: Event) -> bool:
        said = plain(event.content) if isinstance(event, MessageEvent) else ""
        return (
            after < event.seq < before
            and (not types or type(event).__name__ in types)
            and source in (None, event.source)
            and (since is None or event.timestamp >= since)
            and (until is None or event.timestamp < until)
            and text.casefold() in said.casefold()
        )

    expected = [codec.encode(event) for event in read_conversation(log) if fits(event)]
    wanted = Wanted(after, before, backwards, types, source, since, until, text)
    assert count_all(parts_of(log), wanted, most) == len(expected)
    assert read_all(parts_of(log), wanted, limit, most) == (expected[::-1] if backwards else expected)


def test_a_look_at_a_log_ends_when_it_was_long_enough(tmp_path: Path) -> None:
    parts = parts_of(said(tmp_path, count=100, size=1 << 20))
    rare = Wanted(0, 1000, text="nowhere")
    page, tally = read_page(parts, rare, 10), count_events(parts, rare)
    assert (page.events, tally.count) == ((), 0)
    assert page.next == tally.next
    assert page.next is not None
    assert 60 < page.next < 70, "64 MiB"
    assert count_events(parts, Wanted(0, 1000)).count == parts[-1].last, "without a look at any"


def test_a_page_ends_before_it_is_too_large(tmp_path: Path) -> None:
    log = said(tmp_path, count=20, size=1 << 20)
    for backwards in (False, True):
        page = read_page(parts_of(log), Wanted(0, 99, backwards), 1000)
        assert 7 <= len(page.events) <= 11
        assert len(read_all(parts_of(log), Wanted(0, 99, backwards), 1000)) == len(read_conversation(log))


async def test_a_fork_is_read_through_both_files(tmp_path: Path) -> None:
    async with FileStore(tmp_path) as store:
        log = said(tmp_path)
        read: list[Event] = []
        journal = await store.fork("c", "f", 10, read.append)
        await append(journal, samples.numbered(created("f", parent="c"), 11))
        live = journal.parts
        assert [part.path.parent.name for part in live] == ["c", "f"]
        assert [codec.decode(event).seq for event in read_all(live, Wanted(8, 99), 3)] == [9, 10, 11, 12]
        assert await store.history("f").event(10) == await store.history("c").event(10)
        assert read_created(log).conversation_id == "c"
        assert read_created(directory(store, "f")).parent == "c"


def test_the_state_at_any_place_is_the_fold_up_to_there(log: Path) -> None:
    events = read_conversation(log)
    for at in (0, 1, 2, 7, len(events)):
        assert read_state(log, at).branch.view == fold(events[:at]).branch.view
        assert read_state(log, at).seq == at
    assert read_state(log).seq == len(events)


def test_what_is_not_there(tmp_path: Path, log: Path) -> None:
    for read in (parts_of, read_state, read_created):
        with pytest.raises(ConversationMissing):
            read(tmp_path / "nobody")
    assert read_page(parts_of(log), Wanted(998, 1000), 1).events == ()


def test_a_record_that_was_damaged_since_is_told(tmp_path: Path) -> None:
    log = said(tmp_path)
    parts = parts_of(log)
    data = bytearray((log / "events.jsonl").read_bytes())
    data[parts[0].ends[9] + 20] ^= 1
    (log / "events.jsonl").write_bytes(data)
    assert len(read_page(parts, Wanted(0, 10), 100).events) == 9
    with pytest.raises(LogCorrupt):
        read_page(parts, Wanted(0, 20), 100)
