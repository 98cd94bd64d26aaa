from __future__ import annotations

from pathlib import Path

import aiohttp
import anyio
import pytest

from agentrt.testing import ScriptedLLM, finish

from .served import agent, served

pytestmark = pytest.mark.real


async def test_a_conversation_works_over_http(tmp_path: Path) -> None:
    model = ScriptedLLM([finish("It is done.")])
    async with served(tmp_path, model) as client:
        status, made = await client.ask("POST", "/conversations", {"agent": agent(), "message": "Begin"})
        assert status == 201
        with anyio.fail_after(10):
            while (await client.ask("GET", f"/conversations/{made['id']}"))[1]["status"] != "finished":
                await anyio.lowlevel.checkpoint()


async def test_the_pages_and_the_document_are_there_without_a_key(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client, aiohttp.ClientSession() as nobody:
        for path, statuses in (("/", {200, 503}), ("/docs", {200, 503}), ("/openapi.json", {200})):  # built, or not
            async with nobody.get(client.url + path) as answer:
                assert answer.status in statuses, path
        async with nobody.get(f"{client.url}/conversations/count") as answer:
            assert answer.status == 401


async def test_what_is_not_there_is_a_problem(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        status, problem = await client.ask("POST", "/conversations/nobody/pause", {})
        assert (status, problem["code"]) == (404, "conversation-missing")
        status, problem = await client.ask("GET", "/nowhere")
        assert (status, problem["status"]) == (404, 404)
