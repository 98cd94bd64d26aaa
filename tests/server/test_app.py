from __future__ import annotations

from pathlib import Path

import anyio

from agentrt.testing import ScriptedLLM, finish

from .served import agent, served


async def test_a_conversation_works_over_http(tmp_path: Path) -> None:
    model = ScriptedLLM([finish("It is done.")])
    async with served(tmp_path, model) as client:
        status, made = await client.ask("POST", "/conversations", {"agent": agent(), "message": "Begin"})
        assert status == 201
        with anyio.fail_after(10):
            while (await client.ask("GET", f"/conversations/{made['id']}"))[1]["status"] != "finished":
                await anyio.lowlevel.checkpoint()


async def test_what_is_not_there_is_a_problem(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        status, problem = await client.ask("POST", "/conversations/nobody/pause", {})
        assert (status, problem["code"]) == (404, "conversation-missing")
        status, problem = await client.ask("GET", "/nowhere")
        assert (status, problem["status"]) == (404, 404)
