"""Servers with so many tools that the model searches them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt import ExecutionStatus
from agentrt.events import ActionEvent, AgentErrorEvent, ObservationEvent, ToolsChanged
from agentrt.replaying import replay
from agentrt.specs.content import plain
from agentrt.specs.deferral import CALL, SEARCH, tokens_of
from agentrt.state import fold
from agentrt.testing import ScriptedLLM, call, calls, finish
from tests.mcp.warm import server_of
from tests.test_mcp import DEMO, agent, lived

MANY = server_of("tests.mcp.many")
pytestmark = [pytest.mark.real, pytest.mark.usefixtures("warm_servers")]


async def test_what_a_search_finds_is_called_and_the_tools_stay_the_same(tmp_path: Path) -> None:
    turns = [
        call(CALL, name="create_issue", arguments={"title": "too early"}),
        call(SEARCH, query="create an issue", limit=3),
        calls(
            (CALL, {"name": "create_issue", "arguments": {"title": "a", "count": "2"}}),
            ("create_issue", {"title": "b"}),
        ),
        call(CALL, name="delete_wiki", arguments={"title": "not found yet"}),
        finish("ok"),
    ]
    model = ScriptedLLM(turns)
    state, events = await lived(tmp_path, agent({"many": MANY, "demo": DEMO}, tool_search=0.01), model)
    assert state.status is ExecutionStatus.FINISHED
    many = next(event for event in events if isinstance(event, ToolsChanged) and event.server == "many")
    assert many.deferred
    assert len(many.tools) == 100
    offered = [[tool.name for tool in request.tools] for request in model.requests]
    assert all(names == offered[0] for names in offered), "the prompt cache keeps them"
    assert {SEARCH, CALL, "add"} <= {*offered[0]}
    assert "create_issue" not in offered[0]
    assert "many (100)" in next(tool for tool in model.requests[0].tools if tool.name == SEARCH).description

    (found,) = (event for event in events if isinstance(event, ObservationEvent) and event.found)
    assert found.found[0] == "create_issue"
    assert len(found.found) == 3
    assert found.labels == ("mcp",)
    made = [event for event in events if isinstance(event, ActionEvent) and event.tool_name == "create_issue"]
    assert [one.through for one in made] == [CALL] * 3, "whichever way it is called it goes over the wire in one"
    said = {event.action_id: plain(event.content) for event in events if isinstance(event, ObservationEvent)}
    assert [said.get(one.id) for one in made] == [None, "create issue: a 2", "create issue: b 1"]
    errors = [event.error for event in events if isinstance(event, AgentErrorEvent)]
    assert errors == [
        f"not run: {name} is called once tool_search has shown how: search for it first"
        for name in ("create_issue", "delete_wiki")
    ]
    sent = [one for message in model.requests[-1].messages for one in message.tool_calls]
    assert {one.name for one in sent} == {CALL, SEARCH}
    assert state.branch.found == found.found
    assert fold(events).branch.found == found.found
    again = await replay(events)
    assert again.difference is None, again.difference


async def test_few_tools_are_offered_and_none_are_deferred_where_that_is_not_wanted(tmp_path: Path) -> None:
    for number, share in enumerate((0.1, None)):
        model = ScriptedLLM([finish("ok")])
        state, _ = await lived(tmp_path / str(number), agent({"many": MANY}, tool_search=share), model)
        assert not state.servers["many"].deferred
        names = {tool.name for tool in model.requests[0].tools}
        assert "create_issue" in names
        assert SEARCH not in names
        taken = sum(map(tokens_of, state.servers["many"].tools))
        assert taken < 12_800


async def test_a_search_without_a_find_says_what_there_is(tmp_path: Path) -> None:
    turns = [call(SEARCH, query="zebra"), call(SEARCH, query=""), finish("ok")]
    _, events = await lived(tmp_path, agent({"many": MANY}, tool_search=0), ScriptedLLM(turns))
    said = [plain(event.content) for event in events if isinstance(event, ObservationEvent)]
    assert said[:2] == ["No tool fits. There are tools of many: try other words."] * 2
