"""Full text: what is found, and how the index follows logs that grow, shrink and are written anew."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt.context.texts import text_of
from agentrt.errors import ConfigurationError
from agentrt.events import HeadMoved, UserRejectObservation
from agentrt.storage.catalogue import Catalogue
from agentrt.storage.index import PIECE, Index, to_match
from tests import samples

from .logs import conversation, created, write_log

pytestmark = pytest.mark.simulated


def found(root: Path, words: str, limit: int = 99, *, newest: bool = False) -> list[tuple[str, int, str]]:
    return [(hit.conversation, hit.seq, hit.kind) for hit in Catalogue(root).search(words, limit, newest=newest)]


def test_what_was_said_called_and_observed_is_found(tmp_path: Path) -> None:
    act = replace(
        samples.action(id="a1"),
        thought="I shall ponder.",
        arguments_json=msgspec.Raw(b'{"command":["caf\\u00e9",{"x":42}]}'),
    )
    odd = replace(samples.action(id="a3"), arguments_json=msgspec.Raw(b"{}"), malformed='{"half')
    refused = UserRejectObservation(action_id="a2", tool_name="look", tool_call_id="c", rejection_reason="not today")
    conversation(
        tmp_path,
        "c",
        "a Pelican",
        samples.answer("a heron"),
        act,
        samples.observation(act, "one stork"),
        samples.action("look", id="a2"),
        refused,
        samples.failure(act, "no crane"),
        odd,
    )
    for words, seq, kind in [
        ("pelican", 3, "user"),
        ("HERON", 4, "agent"),
        ("ponder", 5, "action"),
        ("cafe 42 terminal", 5, "action"),
        ("stork", 6, "observation"),
        ("today", 8, "rejection"),
        ("crane", 9, "error"),
        ("half", 10, "action"),
    ]:
        assert found(tmp_path, words) == [("c", seq, kind)], words
    assert found(tmp_path, "pelican heron") == [], "all words of one event"
    assert found(tmp_path, "test") == [], "the system prompt is nobody's word"


@pytest.mark.pure
def test_bookkeeping_has_no_words() -> None:
    said = [type(event).__name__ for event in samples.every_event() if text_of(event) is not None]
    assert set(said) == {
        "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent", "UserRejectObservation",
    }  # fmt: skip


@pytest.mark.pure
@pytest.mark.parametrize(
    ("words", "match"),
    [
        ("exit code", '"exit" "code"'),
        ('"exit code" 1', '"exit code" "1"'),
        ('never "closed', '"never" "closed"'),
        ("migrat* foo.py", '"migrat"* "foo.py"'),
        ("a AND (b OR NOT c:d) NEAR -> ^", '"a" "AND" "(b" "OR" "NOT" "c:d)" "NEAR"'),
        ("don't;--", '"don\'t;--"'),
    ],
)
def test_words_are_words_and_a_phrase_stays_one(words: str, match: str) -> None:
    assert to_match(words) == match.replace('"migrat"*', '"migrat*"*')


@pytest.mark.pure
@pytest.mark.parametrize("words", ["", "  ", '""', "-> * ^", '"', "\x00"])
def test_without_a_word_it_says_so(words: str) -> None:
    with pytest.raises(ConfigurationError, match="nothing to search for"):
        to_match(words)


@pytest.mark.pure
@given(st.text() | st.text(alphabet="ab\"*()^:-+ '\x00{}NEARANDORNOT"))
def test_nothing_that_is_typed_is_an_error_of_syntax(words: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(
            "CREATE TABLE conversations (number INTEGER PRIMARY KEY, id TEXT, bytes INTEGER, known, owner, workspace)"
        )
        index = Index(connection)
        index.prepare()
        connection.execute("INSERT INTO words (rowid, kind, text) VALUES (1, 'user', 'a b ab')")
        try:
            match = to_match(words)
        except ConfigurationError:
            return
        index.search(match, 5, newest=False)


def test_a_phrase_and_a_beginning_are_found(tmp_path: Path) -> None:
    conversation(tmp_path, "a", "the exit code was 1")
    conversation(tmp_path, "b", "the code to exit the migration of foo.py")
    assert {name for name, *_ in found(tmp_path, "exit code")} == {"a", "b"}
    assert [name for name, *_ in found(tmp_path, '"exit code"')] == ["a"]
    assert [name for name, *_ in found(tmp_path, "migrat*")] == ["b"]
    assert found(tmp_path, "migrat") == []
    assert [name for name, *_ in found(tmp_path, "foo.py")] == ["b"]


def test_a_hit_says_where_the_words_stand(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "word " * 50 + "a \x02pelican\x03 and\x00 a heron" + " word" * 50)
    (hit,) = Catalogue(tmp_path).search("heron pelican")
    assert [hit.text[start:end] for start, end in hit.matches] == ["pelican", "heron"]
    assert hit.text.startswith("…")
    assert "a pelican and a heron" in hit.text
    assert len(hit.text.split()) <= 26


def test_the_best_or_the_newest_are_first(tmp_path: Path) -> None:
    conversation(tmp_path, "1", "a pelican is a pelican is a pelican")
    conversation(tmp_path, "2", "a pelican, " + "and much else " * 30)
    conversation(tmp_path, "3", *["something else"] * 5)
    assert [name for name, *_ in found(tmp_path, "pelican")] == ["1", "2"]
    assert [name for name, *_ in found(tmp_path, "pelican", newest=True)] == ["2", "1"]
    assert found(tmp_path, "pelican", 1) == [("1", 3, "user")]


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    """What is indexed already may even be overwritten: the log goes on where the last record ends."""
    path = conversation(tmp_path, "c", "a pelican", "no more")
    assert len(found(tmp_path, "pelican")) == 1
    path.write_bytes(path.read_bytes().replace(b"pelican", b"ostrich"))
    write_log(tmp_path, "c", samples.message("a heron"), after=4)
    assert found(tmp_path, "heron") == [("c", 5, "user")]
    assert found(tmp_path, "ostrich") == []
    assert len(found(tmp_path, "pelican")) == 1


@pytest.mark.parametrize("longer", [False, True])
def test_a_log_that_was_cut_is_indexed_anew(tmp_path: Path, longer: bool) -> None:
    path = conversation(tmp_path, "c", "a pelican")
    whole = path.read_bytes()
    write_log(tmp_path, "c", samples.message("a heron"), after=3)
    assert found(tmp_path, "heron") == [("c", 4, "user")]
    path.write_bytes(whole)
    if longer:
        write_log(tmp_path, "c", samples.message("a stork, " + "and more " * 99), after=3)
    assert found(tmp_path, "heron") == []
    assert found(tmp_path, "pelican") == [("c", 3, "user")]
    assert found(tmp_path, "stork") == ([("c", 4, "user")] if longer else [])


def test_what_a_rewind_left_behind_is_still_found(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "go", "a pelican", HeadMoved(to=3), "a heron")
    assert len(found(tmp_path, "pelican")) == len(found(tmp_path, "heron")) == 1


def test_a_fork_is_found_by_its_own_words(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "a pelican", "on")
    (first, _) = created("fork", parent="c")
    write_log(tmp_path, "fork", first, samples.message("a heron"), after=4)
    assert found(tmp_path, "pelican") == [("c", 3, "user")]
    assert found(tmp_path, "heron") == [("fork", 6, "user")]
    write_log(tmp_path, "fork", samples.message("a stork"), after=6)
    assert found(tmp_path, "stork") == [("fork", 7, "user")]


def test_a_torn_tail_waits_for_its_end(tmp_path: Path) -> None:
    path = conversation(tmp_path, "c", "a pelican")
    begun = path.stat().st_size
    write_log(tmp_path, "c", samples.message("a heron"), samples.message("a stork"), after=3)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"stork")])
    assert found(tmp_path, "heron") == [], "a batch stands or falls whole"
    assert found(tmp_path, "pelican") == [("c", 3, "user")]
    path.write_bytes(whole[:begun] + whole[begun:])
    assert found(tmp_path, "heron") == [("c", 4, "user")]


def test_before_a_damage_all_is_found(tmp_path: Path) -> None:
    path = conversation(tmp_path, "c", "a pelican")
    for after in (3, 4):
        write_log(tmp_path, "c", samples.message("a heron"), after=after)
    path.write_bytes(path.read_bytes().replace(b"heron", b"stork", 1))
    assert found(tmp_path, "pelican") == [("c", 3, "user")]
    assert found(tmp_path, "stork") == []


def test_a_long_log_is_indexed_in_pieces(tmp_path: Path) -> None:
    filler = "and so on " * (PIECE // 16)
    conversation(tmp_path, "b", *[f"{filler} pelican"] * 2)
    for after in (4, 5, 6):
        write_log(tmp_path, "b", samples.message(f"{filler} pelican"), after=after)
    told: list[tuple[int, int]] = []
    hits = Catalogue(tmp_path).search("pelican", 9, progress=lambda done, of: told.append((done, of)))
    assert sorted(hit.seq for hit in hits) == [3, 4, 5, 6, 7]
    assert told[-1] == (1, 1)
    assert len(told) > 1
    assert sorted(seq for _, seq, _ in found(tmp_path, "pelican")) == [3, 4, 5, 6, 7]


@pytest.mark.pure
def test_an_sqlite_without_full_text_is_said_in_a_line() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        with pytest.raises(ConfigurationError, match="built without fts99, which search needs"):
            Index(connection, module="fts99").prepare()
