"""`agentrt list` and `agentrt search`, as processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentrt.events import ModelCalled, ModelCallStarted, TagsChanged, TitleChanged
from agentrt.storage.locks import Locks
from agentrt.usage import Usage
from tests import samples
from tests.storage.logs import conversation

from .test_main import agentrt

pytestmark = pytest.mark.real


def test_a_list_can_be_cut_by_number_and_status(tmp_path: Path) -> None:
    for number in range(3):
        conversation(tmp_path, f"c{number}", f"task {number}\nand more")
    conversation(tmp_path, "running", "go", samples.every_event()[3])
    listed = agentrt(tmp_path, "list")
    assert listed.stderr == ""
    assert listed.stdout.splitlines()[0].split() == ["id", "status", "calls", "cost", "title"]
    assert len(listed.stdout.splitlines()) == 5
    (_, row) = agentrt(tmp_path, "list", "--status", "crashed").stdout.splitlines()
    assert row.split()[:5] == ["running", "interrupted", "by", "a", "crash"], "nobody has it open"
    locks = Locks(tmp_path / "lock")
    locks.acquire("running")
    (_, row) = agentrt(tmp_path, "list", "--status", "running").stdout.splitlines()
    assert row.split()[:2] == ["running", "running"]
    locks.close()
    (_, row) = agentrt(tmp_path, "list", "--status", "idle", "-n", "1").stdout.splitlines()
    assert row.split() == ["c2", "idle", "0", "$0.0000", "task", "2"]
    assert agentrt(tmp_path, "list", "--status", "stuck").stdout == "no conversation is stuck\n"
    assert "Invalid value for '--status'" in agentrt(tmp_path, "list", "--status", "gone").stderr


def test_on_a_narrow_terminal_the_title_has_a_line_of_its_own(tmp_path: Path) -> None:
    call = (ModelCallStarted(command="x"), ModelCalled(command="x", model="m", usage=Usage(1, 1)))
    conversation(tmp_path, "0" * 36, "a long task " * 9, *call)
    (row, title) = agentrt(tmp_path, "list", COLUMNS="80").stdout.splitlines()
    assert row == f"{'0' * 36}  idle  1 call  price unknown"
    assert title.startswith("    a long task a long")
    assert len(title) <= 80


def test_part_of_an_id_that_several_have_is_said_to_be(tmp_path: Path) -> None:
    for name in ("abc-1", "abc-2", "xyz"):
        conversation(tmp_path, name, "go")
    assert "'abc' matches 2 conversations, such as abc-1, abc-2" in agentrt(tmp_path, "show", "abc").stderr
    assert agentrt(tmp_path, "show", "xy").returncode == 0
    assert "no conversation 'q'" in agentrt(tmp_path, "show", "q").stderr


def test_nobody_is_asked_where_nobody_is(tmp_path: Path) -> None:
    conversation(tmp_path, "abc", "go")
    refused = agentrt(tmp_path, "delete", "abc")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "confirm with --yes" in refused.stderr


def test_a_list_as_json_has_titles_and_tags(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "go", TitleChanged(title="Tests"), TagsChanged(tags={"team": "core"}))
    assert "Tests" in agentrt(tmp_path, "list").stdout
    (row,) = map(json.loads, agentrt(tmp_path, "list", "--json").stdout.splitlines())
    assert (row["id"], row["status"], row["title"], row["tags"]) == ("c", "idle", "Tests", {"team": "core"})
    assert agentrt(tmp_path / "none", "list", "--json").stdout == ""


def test_words_are_found_with_their_place(tmp_path: Path) -> None:
    act = samples.action()
    conversation(tmp_path, "c", "Where are\nthe pelicans?", act, samples.observation(act, "pelicans: none"))
    found = agentrt(tmp_path, "search", "pelicans")
    assert (found.returncode, found.stderr) == (0, "")
    assert sorted(found.stdout.splitlines()) == [
        "  Where are the pelicans?",
        "  pelicans: none",
        "c  3  user",
        "c  5  observation",
    ]
    assert agentrt(tmp_path, "search", '"pelicans none"').stdout == "c  5  observation\n  pelicans: none\n"
    (line,) = agentrt(tmp_path, "search", "--json", "-n", "1", "pelicans", "where").stdout.splitlines()
    assert json.loads(line) == {
        "conversation": "c",
        "seq": 3,
        "kind": "user",
        "text": "Where are\nthe pelicans?",
        "matches": [[0, 5], [14, 22]],
    }


def test_a_match_is_bright_and_nothing_else_steers_the_terminal(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "a \x1b]0;owned\x07 pelican [red]here[/red]")
    found = agentrt(tmp_path, "search", "pelican", FORCE_COLOR="1", TERM="xterm-256color")
    assert "\x1b[1;33mpelican\x1b[0m [red]here[/red]" in found.stdout
    assert "\x1b]0" not in found.stdout
    assert "\x07" not in found.stdout


def test_nothing_found_is_exit_code_1_and_no_words_are_2(tmp_path: Path) -> None:
    nothing = agentrt(tmp_path, "search", "AND ( NEAR")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (1, "", "nothing found\n")
    assert list(tmp_path.iterdir()) == [], "looking leaves nothing behind where there is no store"
    wrong = agentrt(tmp_path, "search", "(*)")
    assert wrong.returncode == 2
    assert wrong.stderr == "agentrt: nothing to search for in '(*)': give a word, or several\n"


def test_a_damaged_catalogue_is_none_of_the_users_business(tmp_path: Path) -> None:
    conversation(tmp_path, "c", "a pelican")
    (tmp_path / "catalogue.sqlite").write_bytes(b"no database at all" * 1000)
    listed = agentrt(tmp_path, "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "a pelican" in listed.stdout
    (tmp_path / "catalogue.sqlite").write_bytes(b"no database at all" * 1000)
    found = agentrt(tmp_path, "search", "pelican")
    assert (found.returncode, found.stderr) == (0, "")
