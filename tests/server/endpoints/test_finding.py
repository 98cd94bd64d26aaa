from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.testing import ScriptedLLM

from ..served import agent, served
from .helpers import begin
from .test_conversations import as_named

pytestmark = pytest.mark.real


async def test_the_tools_that_there_are(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        status, found = await client.ask("GET", "/tools")
        tools = {tool["name"]: tool for tool in found["items"]}
        assert status == 200
        assert {"terminal", "file_editor", "task_tracker", "think", "finish"} <= tools.keys()
        assert tools["terminal"]["parameters"]["type"] == "object"
        assert tools["terminal"]["description"]


async def test_words_are_found_where_they_were_said(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        names = [(await begin(client))["id"] for _ in range(3)]
        for name in names:
            body = {"content": f"The pelican of {name[-4:]} flies"}
            assert (await client.ask("POST", f"/conversations/{name}/message", body))[0] == 200
        _, found = await client.ask("GET", "/search?query=pelic*")
        assert sorted(hit["conversation"] for hit in found["items"]) == sorted(names)
        (begin_, end), hit = found["items"][0]["matches"][0], found["items"][0]
        assert hit["text"][begin_:end] == "pelican"
        _, event = await client.ask("GET", f"/conversations/{hit['conversation']}/events/{hit['seq']}")
        assert event["type"] == "MessageEvent"
        assert len((await client.ask("GET", "/search?query=pelican&limit=2&order=newest"))[1]["items"]) == 2
        assert (await client.ask("GET", "/search?query=walrus"))[1]["items"] == []
        for wrong, code in (("query=%20", "configuration"), ("", "validation"), ("query=a&limit=101", "validation")):
            status, problem = await client.ask("GET", f"/search?{wrong}")
            assert (status, problem["code"]) == (422, code)


async def test_nothing_of_others_is_found(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), authenticate=as_named) as client:
        for owner, count in (("ada", 4), ("bob", 1)):
            for _ in range(count):
                _, made = await client.ask("POST", "/conversations", {"agent": agent()}, **{"X-Owner": owner})
                path = f"/conversations/{made['id']}/message"
                assert (await client.ask("POST", path, {"content": "pelican"}, **{"X-Owner": owner}))[0] == 200
        for owner, count in (("ada", 4), ("bob", 1), ("eve", 0)):
            _, found = await client.ask("GET", "/search?query=pelican&limit=10", **{"X-Owner": owner})
            assert len(found["items"]) == count
        _, found = await client.ask("GET", "/search?query=pelican&limit=1", **{"X-Owner": "bob"})
        assert len(found["items"]) == 1
