"""Which calls of a batch may begin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.state import ANY_FILE, EVERYTHING, Pending, beginnable
from tests import samples

pytestmark = pytest.mark.pure

KEYS = st.lists(st.sampled_from(("x", "y", "file:/a", ANY_FILE, EVERYTHING)), max_size=2).map(tuple)


def call(id: str, *touches: str, begun: bool = False, name: str = "look") -> Pending:
    return Pending(samples.action(name, "r", *touches, id=id), command="execute" if begun else None)


def ids(*pending: Pending, side_by_side: int = 9) -> list[str]:
    return [p.action.id for p in beginnable(pending, side_by_side)]


def test_calls_that_share_something_run_in_the_order_asked() -> None:
    assert ids(call("a", "x"), call("b", "y"), call("c", "x"), call("d")) == ["a", "b", "d"]
    assert ids(call("a", "x", begun=True), call("b", "x"), call("c", "y")) == ["c"]


def test_what_shares_everything_runs_alone() -> None:
    assert ids(call("a"), call("b", "*"), call("c")) == ["a"]
    assert ids(call("a", begun=True), call("b", "*"), call("c")) == []
    assert ids(call("b", "*"), call("c")) == ["b"]
    assert ids(call("b", "*", begun=True), call("c")) == []


def test_a_command_and_an_edit_run_in_the_order_asked() -> None:
    one, two = call("a", "terminal:main", ANY_FILE), call("b", "terminal:other", ANY_FILE)
    assert ids(one, two, call("c", "file:/a"), call("d")) == ["a", "b", "d"]
    assert ids(call("c", "file:/a"), one, call("e", "file:/b")) == ["c"]
    assert ids(call("c", "file:/a"), call("e", "file:/b")) == ["c", "e"]


def test_there_is_room_for_so_many() -> None:
    three = (call("a"), call("b"), call("c"))
    assert ids(*three, side_by_side=2) == ["a", "b"]
    assert ids(call("a", begun=True), *three[1:], side_by_side=2) == ["b"]
    assert ids(call("a", begun=True), call("b", begun=True), call("c"), side_by_side=1) == []


@given(st.lists(st.tuples(KEYS, st.booleans()), min_size=1, max_size=6), st.integers(1, 3))
def test_something_begins_or_runs_and_nothing_that_shares_a_key_runs_twice(
    drawn: list[tuple[tuple[str, ...], bool]], side_by_side: int
) -> None:
    pending = [call(f"a{n}", *keys, name="finish" if end else "look") for n, (keys, end) in enumerate(drawn)]
    running: list[Pending] = []
    while pending:
        for p in beginnable([*pending], side_by_side):
            place = pending.index(p)
            pending[place] = Pending(p.action, command="execute")
        running = [p for p in pending if p.command is not None]
        assert 0 < len(running) <= side_by_side
        keys = [key for p in running for key in set(p.action.resources) if key != ANY_FILE]
        assert len(keys) == len(set(keys))
        any_file = [p for p in running if ANY_FILE in p.action.resources]
        assert all(p in any_file for p in running if "file:/a" in p.action.resources) or not any_file
        assert EVERYTHING not in keys or len(running) == 1
        pending.remove(running[-1])
