"""What the files were at a place in the log, and who changed them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentrt.decisions.file_history import file_history
from agentrt.events import Event, FilesRestored, WorkspaceSnapshot

pytestmark = pytest.mark.pure


def logged(*events: Event) -> list[Event]:
    return [replace(event, seq=seq) for seq, event in enumerate(events, start=100)]


def kept(at: int, when: str, tree: str, late: bool = False) -> WorkspaceSnapshot:
    return WorkspaceSnapshot(at=at, when="after" if when == "after" else "before", tree=tree, late=late)


def test_who_has_changed_files_is_not_known_after_none_were_kept() -> None:
    off = WorkspaceSnapshot(at=14, off="git failed")
    history = file_history(logged(kept(4, "before", "a"), kept(8, "after", "b"), off, kept(20, "after", "c")))
    assert [moment.by for moment in history.moments] == ["people", "agent", "unknown", "unknown"]
    at = history.at(9)
    assert at is not None
    assert at.tree == "b", "what the agent left is known, though what came then is not"
    assert history.at(15) is None
    assert [moment.tree for moment in history.since(9)] == ["b", "c"]


def test_a_tree_that_came_late_is_nobodys() -> None:
    history = file_history(
        logged(kept(4, "before", "a", True), kept(8, "after", "b"), kept(14, "before", "c", True), FilesRestored(to=1))
    )
    first, between = history.at(2), history.at(9)
    assert first is not None
    assert first.late
    assert between is not None
    assert (between.tree, between.late) == ("b", False)
    assert [moment.by for moment in history.since(9)] == ["agent", "unknown"]


def test_a_call_that_says_what_it_writes_has_changed_nothing_else() -> None:
    event = WorkspaceSnapshot(at=8, when="after", tree="b", calls=(7,), writes=("own.txt", "made"))
    (moment,) = file_history(logged(event)).moments
    whose = [moment.whose(path) for path in ("own.txt", "made/deep/x", "made.txt", "other")]
    assert whose == ["agent", "agent", "people", "people"]
