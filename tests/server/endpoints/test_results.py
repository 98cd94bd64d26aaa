"""A client that executes tools: the calls that it finds, and the results that it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentrt import ClientTool
from agentrt.testing import ScriptedLLM, call, finish
from tests.proofs.waiting import eventually
from tests.server.served import Client, agent, served

pytestmark = pytest.mark.real

PRESS = ClientTool("press", "Press a button.", {"type": "object", "properties": {"label": {"type": "string"}}})


async def standing(client: Client) -> dict[str, Any]:
    status, info = await client.ask("GET", "/conversations/c")
    assert status == 200
    found: dict[str, Any] = info
    return found


@pytest.mark.parametrize("way", ["path", "control"])
async def test_a_client_finds_the_call_and_gives_its_result(tmp_path: Path, way: str) -> None:
    model = ScriptedLLM([call("press", label="OK"), finish("pressed it")])
    async with served(tmp_path, model) as client:
        made = {"id": "c", "agent": agent(tools=(), client_tools=(PRESS,)), "message": "go"}
        assert (await client.ask("POST", "/conversations", made))[0] == 201

        async def waits() -> bool:
            return bool((await standing(client))["status"] == "waiting_for_client")

        await eventually(waits, "the call waits", 20)
        (waiting,) = (await standing(client))["awaited"]
        assert (waiting["tool_name"], waiting["arguments"]) == ("press", {"label": "OK"})
        _, page = await client.ask("GET", "/conversations")
        assert page["items"][0]["awaited"] == [waiting]
        path, body = f"/conversations/c/actions/{waiting['id']}/result", {"content": "done", "is_error": False}
        if way == "control":
            path, body = "/conversations/c/tool_result", {**body, "action_id": waiting["id"]}
        assert (await client.ask("POST", path, body))[0] == 200
        status, problem = await client.ask("POST", path, body)
        assert status == 422, problem
        assert "waits for a client's result here" in problem["detail"]

        async def over() -> bool:
            return bool((await standing(client))["answer"] == "pressed it")

        await eventually(over, "the answer", 20)
        assert (await standing(client))["awaited"] == []
