"""What goes back, and what stays."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentrt.decisions.file_history import By, Moment
from agentrt.events import ChangedDuring
from agentrt.workspaces.going_back import going_back
from agentrt.workspaces.tree_listing import Change

pytestmark = pytest.mark.pure


def moment(by: By, calls: tuple[int, ...] = (), writes: tuple[str, ...] | None = None) -> Moment:
    return Moment(1, "tree", by, datetime(2026, 1, 1, tzinfo=UTC), calls, writes)


def changed(*paths: str) -> list[Change]:
    return [Change(path, "M", "100644", "blob") for path in paths]


def test_what_people_did_stays_and_what_the_agent_did_goes_back() -> None:
    back = going_back(
        [
            moment("people"),
            moment("agent", (7,)),
            moment("unknown"),
            moment("agent", (9,), ("own", "d")),
            moment("rewind"),
        ],
        [changed("a", "b"), changed("b", "c"), changed("u", "b"), changed("own", "d/e", "theirs"), changed("z")],
    )
    assert [change.path for change in back.theirs] == ["a", "b", "u", "b", "theirs"]
    assert back.unknown == {"u", "b"}
    assert back.told(["b", "c", "own", "z"]) == (ChangedDuring(calls=(7,), paths=("b", "c"), count=2),)
    assert back.told(["own"]) == ()


def test_what_people_changed_last_is_known() -> None:
    back = going_back([moment("unknown"), moment("people")], [changed("a", "b"), changed("a")])
    assert back.unknown == {"b"}
