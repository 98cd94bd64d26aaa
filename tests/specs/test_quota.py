from __future__ import annotations

import pytest

from agentrt.specs import Tool
from agentrt.specs.quota import Quota

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("asked", "given"), [({}, 8), ({"max_processes": 4}, 4), ({"max_processes": 99}, 8)])
def test_a_tool_has_what_it_asks_for_within_the_quota(asked: dict[str, int], given: int) -> None:
    tool = Quota(processes=8).of(Tool("terminal", {"no_change_timeout": 5, **asked}))
    assert tool.params == {"no_change_timeout": 5, "max_processes": given}


def test_every_tool_is_told_and_none_where_there_is_no_quota() -> None:
    assert Quota(processes=8).of(Tool("mine")) == Tool("mine", {"max_processes": 8})
    assert Quota().of(Tool("terminal")) == Tool("terminal")
