"""The list of conversations: what it says, what it finds, and that its file may be lost at any time."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.events import Event, ExecutionStatus, ModelCalled, ModelCallStarted, TagsChanged, TitleChanged
from agentrt.listing import DAMAGED, Filter, Mark, Row, from_micros
from agentrt.state import State, fold
from agentrt.storage import FileStore, read_conversation
from agentrt.storage.catalogue import CATALOGUE, Catalogue
from agentrt.storage.lineage import adopt, delete
from agentrt.storage.locks import Locks
from agentrt.storage.rows import read_row
from agentrt.usage import Usage
from tests import samples

from .commits import append
from .logs import conversation, created, write_log

pytestmark = pytest.mark.simulated


def ids(rows: list[Row]) -> list[str]:
    return [row.id for row in rows]


def state_of(root: Path, name: str) -> State:
    return fold(read_conversation(root / "conversations" / name))


def aged(root: Path, name: str, seconds: int) -> None:
    """Let a log have been modified at a time; the later the newer."""
    os.utime(root / "conversations" / name / "events.jsonl", (1_000_000 + seconds,) * 2)


def settled(root: Path) -> None:
    """Let the directory have been at rest for long."""
    os.utime(root / "conversations", (1_000_000,) * 2)


def test_a_row_says_how_a_conversation_stands(tmp_path: Path) -> None:
    path = conversation(
        tmp_path,
        "c",
        "  Mend it.\nAnd be quick.",
        samples.message("Hello?"),
        ModelCallStarted(command="call-1"),
        ModelCalled(command="call-1", model="m", usage=Usage(1, 2), cost=0.5),
        samples.answer("Done."),
    )
    (row,) = Catalogue(tmp_path).page()
    first = read_conversation(path.parent)[0]
    assert row == Row(
        id="c",
        updated=from_micros(path.stat().st_mtime_ns // 1000),
        bytes=path.stat().st_size,
        created=replace(row, created=first.timestamp).created,
        status="idle",
        title="Mend it.",
        model="scripted",
        calls=1,
        cost=0.5,
        events=7,
        workspace="/work",
        prompt_tokens=1,
        completion_tokens=2,
    )
    assert row.created is not None
    assert abs((row.created - first.timestamp).total_seconds()) < 1e-5


def test_a_title_that_was_given_and_tags_come_before_what_was_said(tmp_path: Path) -> None:
    """Whether the log is read for them, or who wrote it tells its last state."""
    titled = TitleChanged(title="Tests"), TagsChanged(tags={"team": "core"})
    conversation(tmp_path, "c", "Mend it.", *titled)
    catalogue = Catalogue(tmp_path)
    (row,) = catalogue.page()
    assert (row.title, row.tags) == ("Tests", {"team": "core"})
    write_log(tmp_path, "c", TitleChanged(title="x" * 300), TagsChanged(tags={}), after=5)
    catalogue.begin("c")
    catalogue.note("c", state_of(tmp_path, "c"))
    catalogue.close()
    (row,) = catalogue.page()
    assert (row.title, row.tags, row.events) == ("x" * 200, {}, 7)


def test_a_child_names_its_parent(tmp_path: Path) -> None:
    write_log(tmp_path, "child", *created("child", parent="c"))
    (row,) = Catalogue(tmp_path).page()
    assert (row.parent, row.title) == ("c", "")


def test_pages_follow_on_one_another_the_newest_first(tmp_path: Path) -> None:
    for number in range(7):
        conversation(tmp_path, f"c{number}", "go")
        aged(tmp_path, f"c{number}", number // 2)  # some are of one age
    catalogue = Catalogue(tmp_path)
    found: list[str] = []
    after: Mark | None = None
    while rows := catalogue.page(3, after):
        found += ids(rows)
        after = rows[-1].mark
    assert found == ["c6", "c5", "c4", "c3", "c2", "c1", "c0"]


def test_a_status_is_found_also_where_no_log_was_read_yet(tmp_path: Path) -> None:
    ended = (samples.message("go"), samples.answer("done"))
    for number in range(600):
        events = [*samples.beginning(), ended[0], *((ended[1],) if number in (1, 300) else ())]
        write_log(tmp_path, f"c{number:03}", *(replace(event, id=f"{number}-{event.id}") for event in events))
        aged(tmp_path, f"c{number:03}", number)
    conversation(tmp_path, "x", samples.message("go"), *(e for e in samples.every_event()[3:4]))
    catalogue = Catalogue(tmp_path)
    assert ids(catalogue.page(5, wanted=Filter(status="crashed"))) == ["x"]
    assert catalogue.page(5, wanted=Filter(status="running")) == [], "nobody has it open"
    locks = Locks(tmp_path / "lock")
    locks.acquire("x")
    assert ids(catalogue.page(5, wanted=Filter(status="running"))) == ["x"]
    locks.close()
    assert ids(catalogue.page(2, wanted=Filter(status="idle"))) == ["c599", "c598"]
    assert catalogue.page(5, wanted=Filter(status="finished")) == []


@pytest.mark.parametrize("read", [False, True], ids=["not-read-yet", "known"])
def test_of_an_owner_with_words_and_with_tags(tmp_path: Path, read: bool) -> None:
    tagged = TagsChanged(tags={"team": "core", "kind": "bug"})
    conversation(tmp_path, "a", TitleChanged(title="Straße mending"), tagged, owner="ada")
    conversation(tmp_path, "b", TitleChanged(title="Other"), TagsChanged(tags={"team": "web"}), owner="ada")
    conversation(tmp_path, "c", "a STRASSE in the first line", owner="bob")
    conversation(tmp_path, "d", "nobody's")
    catalogue = Catalogue(tmp_path)
    if read:
        assert {row.id: row.owner for row in catalogue.page()} == {"a": "ada", "b": "ada", "c": "bob", "d": None}
    assert set(ids(catalogue.page(wanted=Filter(owner="ada")))) == {"a", "b"}
    assert set(ids(catalogue.page(wanted=Filter(query="strasse")))) == {"a", "c"}
    assert ids(catalogue.page(wanted=Filter(query="STRASSE", owner="bob"))) == ["c"]
    assert set(ids(catalogue.page(wanted=Filter(query="d")))) == {"a", "d"}
    assert ids(catalogue.page(wanted=Filter(tags={"team": "core", "kind": "bug"}))) == ["a"]
    assert ids(catalogue.page(wanted=Filter(tags={"team": "web"}))) == ["b"]
    assert catalogue.page(wanted=Filter(tags={"team": "core", "kind": "x"})) == []
    assert catalogue.page(wanted=Filter(tags={'"; DROP': "core"})) == []


@given(
    st.lists(st.tuples(st.sampled_from("xyz"), st.text("ab", max_size=3)), max_size=6),
    st.builds(
        Filter,
        owner=st.sampled_from([None, "x", "y"]),
        query=st.text("ab", max_size=2),
        status=st.sampled_from([None, "idle", "finished"]),
    ),
)
@settings(max_examples=25)
def test_what_is_found_is_what_fits(rows: list[tuple[str, str]], wanted: Filter) -> None:
    """The database's filter and that of the rows are one."""
    with tempfile.TemporaryDirectory() as directory:
        for number, (owner, title) in enumerate(rows):
            conversation(Path(directory), f"{number}", TitleChanged(title=title), owner=owner)
        catalogue = Catalogue(Path(directory))
        everything = catalogue.page(100)
        found = catalogue.page(100, wanted=Filter(status=wanted.status, owner=wanted.owner, query=wanted.query))
        assert found == [row for row in everything if wanted.fits(row)]
        assert catalogue.count(wanted) == Catalogue(Path(directory)).count(wanted) == len(found)


def test_what_is_in_memory_is_not_read(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "Mend it.")
    state = replace(state_of(tmp_path, "c"), status=ExecutionStatus.STUCK)  # not what the log says
    catalogue = Catalogue(tmp_path)
    (row,) = catalogue.page(wanted=Filter(status="stuck"), live={"c": state}.get)
    assert (row.status, row.title) == ("stuck", "Mend it.")
    catalogue.begin("c")
    assert catalogue.count(Filter(status="stuck"), live={"c": state}.get) == 1
    assert catalogue.page(wanted=Filter(status="stuck")) == []


def test_what_came_and_went_without_a_word_is_found(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path, few=0)
    assert catalogue.page() == []
    conversation(tmp_path, "a", "go")
    settled(tmp_path)
    assert ids(catalogue.page()) == ["a"]
    conversation(tmp_path, "b", "go")
    assert set(ids(catalogue.page())) == {"a", "b"}
    shutil.rmtree(tmp_path / "conversations" / "a")
    assert ids(catalogue.page()) == ["b"]
    (tmp_path / "conversations" / "b" / "events.jsonl").unlink()
    assert catalogue.page() == []


def test_a_directory_at_rest_is_not_read_again(tmp_path: Path) -> None:
    """Its time stands for its names: with the time put back, a new one is not seen."""
    catalogue = Catalogue(tmp_path, few=0)
    conversation(tmp_path, "a", "go")
    settled(tmp_path)
    assert ids(catalogue.page()) == ["a"]
    conversation(tmp_path, "b", "go")
    settled(tmp_path)
    assert ids(catalogue.page()) == ["a"]


def test_a_directory_just_modified_is_read_again(tmp_path: Path) -> None:
    """Within a tick of the file system's clock another name may have come."""
    catalogue = Catalogue(tmp_path, few=0)
    conversation(tmp_path, "a", "go")
    assert ids(catalogue.page()) == ["a"]
    modified = (tmp_path / "conversations").stat().st_mtime_ns
    conversation(tmp_path, "b", "go")
    os.utime(tmp_path / "conversations", ns=(modified, modified))
    assert set(ids(catalogue.page())) == {"a", "b"}


def test_a_directory_that_has_no_log_yet_is_looked_at_again(tmp_path: Path) -> None:
    (tmp_path / "conversations" / "a").mkdir(parents=True)
    settled(tmp_path)
    catalogue = Catalogue(tmp_path, few=0)
    assert catalogue.page() == []
    conversation(tmp_path, "a", "go")
    settled(tmp_path)
    assert ids(catalogue.page()) == ["a"]


async def test_of_many_only_those_that_are_written_are_looked_at(tmp_path: Path) -> None:
    for number in range(4):
        conversation(tmp_path, f"c{number}", "go")
        aged(tmp_path, f"c{number}", number)
    settled(tmp_path)
    catalogue = Catalogue(tmp_path, few=0)
    assert ids(catalogue.page(2)) == ["c3", "c2"]
    write_log(tmp_path, "c0", samples.message("on"), after=3)
    assert ids(catalogue.page(2)) == ["c3", "c2"], "nobody said so"
    catalogue.begin("c0")
    (first, second) = catalogue.page(2)
    assert (first.id, first.events, second.id) == ("c0", 4, "c3")
    write_log(tmp_path, "c0", samples.message("and on"), after=4)
    assert catalogue.page(1)[0].events == 5, "also when its writer has died"
    assert Catalogue(tmp_path).page(1)[0].events == 5
    catalogue.close()


async def test_a_note_makes_a_row_without_the_log(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path, few=0)
    async with FileStore(tmp_path) as store:
        catalogue.begin("c")
        assert catalogue.page() == [], "there is no log yet"
        journal = await store.create("c")
        events: list[Event] = samples.numbered([*samples.beginning(), samples.message("Mend it.")])
        await append(journal, events)
        assert catalogue.page()[0].status == "idle"
        noted = replace(fold(events), status=ExecutionStatus.STUCK)  # not what the log says
        catalogue.note("c", noted)
    settled(tmp_path)
    (row,) = catalogue.page()
    assert (row.status, row.title, row.events) == ("stuck", "Mend it.", 3)
    assert ids(catalogue.page(wanted=Filter(status="stuck"))) == ["c"]
    catalogue.close()


def test_a_note_without_a_state_leaves_the_reading_for_later(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "go")
    settled(tmp_path)
    catalogue = Catalogue(tmp_path, few=0)
    assert catalogue.page()[0].events == 3
    catalogue.begin("c")
    write_log(tmp_path, "c", samples.message("on"), after=3)
    catalogue.note("c")
    assert catalogue.page()[0].events == 4
    catalogue.note("new")
    conversation(tmp_path, "new", "go")
    catalogue.note("new")
    assert set(ids(catalogue.page())) == {"c", "new"}
    catalogue.close()


def test_a_note_of_what_has_no_log_leaves_no_row(tmp_path: Path) -> None:
    (tmp_path / "conversations").mkdir()
    catalogue = Catalogue(tmp_path)
    catalogue.begin("c")
    catalogue.note("c", State())
    assert catalogue.page() == []
    catalogue.close()


def test_what_is_forgotten_is_not_listed_or_found(tmp_path: Path) -> None:
    conversation(tmp_path, "a", "a pelican")
    conversation(tmp_path, "b", "a pelican")
    catalogue = Catalogue(tmp_path)
    assert len(catalogue.search("pelican")) == 2
    shutil.rmtree(tmp_path / "conversations" / "a")
    catalogue.forget("a")
    assert ids(catalogue.page()) == ["b"]
    assert [hit.conversation for hit in catalogue.search("pelican")] == ["b"]
    catalogue.close()


def test_what_only_its_forks_keep_is_not_listed_or_found(tmp_path: Path) -> None:
    conversation(tmp_path, "a", "a pelican")
    write_log(tmp_path, "fork", created("fork", parent="a")[0], after=3)
    catalogue = Catalogue(tmp_path)
    assert len(catalogue.search("pelican")) == 1
    adopt(tmp_path / "conversations" / "a", "fork")
    delete(tmp_path / "conversations" / "a")
    assert (tmp_path / "conversations" / "a").exists()
    for _ in range(2):
        assert ids(catalogue.page()) == ["fork"]
        assert catalogue.search("pelican") == []
        catalogue.forget("a")
    with closing(sqlite3.connect(tmp_path / CATALOGUE)) as connection:
        assert connection.execute("SELECT count(*) FROM words").fetchone() == (0,)
    catalogue.close()


def test_a_damaged_log_is_listed_as_such(tmp_path: Path) -> None:
    path = conversation(tmp_path, "c", "go")
    write_log(tmp_path, "c", samples.message("on"), after=3)
    path.write_bytes(path.read_bytes().replace(b'"go"', b'"no"'))
    (row,) = Catalogue(tmp_path).page()
    assert (row.status, row.title) == (DAMAGED, "")
    assert ids(Catalogue(tmp_path).page(wanted=Filter(status=DAMAGED))) == ["c"]


def test_a_name_that_cannot_be_printed_is_passed_over(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "go")
    os.mkdir(os.fsencode(tmp_path / "conversations") + b"/\xff\x1b[2J")
    assert ids(Catalogue(tmp_path).page()) == ["c"]


def test_a_rebuild_reads_every_log(tmp_path: Path) -> None:
    for number in range(3):
        conversation(tmp_path, f"c{number}", "go")
    catalogue = Catalogue(tmp_path, few=0)
    catalogue.begin("c0")
    catalogue.note("c0", replace(state_of(tmp_path, "c0"), status=ExecutionStatus.STUCK))
    told: list[tuple[int, int]] = []
    assert catalogue.rebuild(lambda done, of: told.append((done, of))) == 3
    assert told == [(3, 3)]
    assert {row.status for row in catalogue.page()} == {"idle"}
    catalogue.close()


def test_a_store_without_conversations_is_not_made(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "nowhere")
    assert (catalogue.page(), catalogue.search("x")) == ([], [])
    catalogue.begin("c")
    assert list(tmp_path.iterdir()) == []


def test_where_no_file_can_be_the_logs_are_read(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "a pelican")
    (tmp_path / CATALOGUE).mkdir()
    catalogue = Catalogue(tmp_path)
    catalogue.begin("c")
    assert ids(catalogue.page()) == ["c"]
    assert len(catalogue.search("pelican")) == 1


WORK = """
import sys
from pathlib import Path
from agentrt.state import fold
from agentrt.storage import read_conversation
from agentrt.storage.catalogue import Catalogue
root, own = Path(sys.argv[1]), sys.argv[2]
catalogue = Catalogue(root)
for _ in range(20):
    catalogue.begin(own)
    assert len(catalogue.page(99)) == 8, catalogue.page(99)
    assert len(catalogue.search("pelican")) == 8
    catalogue.note(own, fold(read_conversation(root / "conversations" / own)))
catalogue.close()
"""


@pytest.mark.real
def test_processes_share_it(tmp_path: Path) -> None:
    for number in range(8):
        conversation(tmp_path, f"c{number}", f"a pelican, number {number}")
    working = [
        subprocess.Popen([sys.executable, "-c", WORK, str(tmp_path), f"c{number}"], stderr=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    for child in working:
        _, said = child.communicate(timeout=60)
        assert (child.returncode, said) == (0, "")
    assert len(Catalogue(tmp_path).search("pelican")) == 8, "no event is indexed twice"


class Store:
    """A store in which things happen, some of them told to its catalogue."""

    def __init__(self, root: Path) -> None:
        self.root, self.catalogue = root, Catalogue(root)
        self.lengths: dict[str, int] = {}

    def written(self, name: str) -> None:
        length = self.lengths.get(name, 0)
        events = [samples.message(f"word{length}")] if length else [*created(name), samples.message("word0")]
        write_log(self.root, name, *events, after=length)
        self.lengths[name] = length + len(events)

    def noted(self, name: str) -> None:
        if name in self.lengths:
            self.catalogue.begin(name)
            self.catalogue.note(name, state_of(self.root, name))

    def let_go(self, name: str) -> None:
        self.catalogue.note(name)

    def deleted(self, name: str) -> None:
        shutil.rmtree(self.root / "conversations" / name, ignore_errors=True)
        self.lengths.pop(name, None)

    def forgotten(self, name: str) -> None:
        self.deleted(name)
        self.catalogue.forget(name)

    def begun(self, name: str) -> None:
        self.catalogue.begin(name)

    def looked_at(self, name: str) -> None:
        self.catalogue.page(1)

    def searched(self, name: str) -> None:
        self.catalogue.search("word0")

    def lost(self, name: str) -> None:
        for path in self.root.glob(f"{CATALOGUE}*"):
            path.unlink()

    def garbled(self, name: str) -> None:
        (self.root / CATALOGUE).write_bytes(os.urandom(5000))

    def spoilt(self, name: str) -> None:
        """A page in the middle of the file is overwritten, while nobody has it open."""
        self.catalogue.close()
        path = self.root / CATALOGUE
        if path.exists():
            data = bytearray(path.read_bytes())
            data[len(data) // 2 : len(data) // 2 + 4096] = b"\x55" * 4096
            path.write_bytes(data)


STEPS = [name for name, value in vars(Store).items() if callable(value) and not name.startswith("_")]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from("abc")), max_size=25))
def test_it_says_what_the_logs_say_whatever_happened(steps: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory))
        (store.root / "conversations").mkdir()
        for step, name in steps:
            getattr(store, step)(name)
        rows = store.catalogue.page(99)
        places = [store.root / "conversations" / name for name in store.lengths]
        stats = {place: (place / "events.jsonl").stat() for place in places}
        read = [read_row(place, from_micros(seen.st_mtime_ns // 1000), seen.st_size) for place, seen in stats.items()]
        assert rows == sorted(read, key=lambda row: (row.updated, row.id), reverse=True)
        assert store.catalogue.count(Filter()) == len(read)
        found = store.catalogue.search("word0", 99)
        assert sorted(hit.conversation for hit in found) == sorted(store.lengths)
        assert not list(store.root.glob(".*")), "nothing temporary is left"
        store.catalogue.close()


@pytest.mark.parametrize("version", [0, 99])
def test_another_version_is_replaced(tmp_path: Path, version: int) -> None:
    conversation(tmp_path, "c", "go")
    with closing(sqlite3.connect(tmp_path / CATALOGUE)) as connection:
        connection.execute("CREATE TABLE conversations (something TEXT)")
        connection.execute(f"PRAGMA user_version={version}")
    catalogue = Catalogue(tmp_path)
    catalogue.begin("c")
    assert ids(catalogue.page()) == ["c"]
    with closing(sqlite3.connect(tmp_path / CATALOGUE)) as connection:
        assert connection.execute("SELECT id FROM conversations").fetchall() == [("c",)]
    catalogue.close()


def test_the_file_is_private(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "go")
    Catalogue(tmp_path).page()
    assert (tmp_path / CATALOGUE).stat().st_mode & 0o077 == 0
