from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent
from agentrt.server import ServerSettings
from agentrt.server.principals import Principal, Scope
from agentrt.testing import ScriptedLLM

from ..served import served

pytestmark = pytest.mark.real


async def test_whether_it_lives_and_takes_work(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        for path in ("/alive", "/health"):
            assert await client.ask("GET", path) == (200, {"status": "ok"})
        with anyio.fail_after(10):
            while (await client.ask("GET", "/ready"))[0] != 200:
                await anyio.lowlevel.checkpoint()


async def test_what_it_is_and_who_asks(tmp_path: Path) -> None:
    async def observer(connection: object) -> Principal:
        return Principal("ada", frozenset({Scope.OBSERVE}))

    agent = Agent(llm=LLM(model="scripted/model"))
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), agent=agent, max_upload=7)
    async with served(tmp_path, ScriptedLLM([]), settings, observer) as client:
        status, told = await client.ask("GET", "/server_info")
        assert status == 200
        assert (told["name"], told["agent"], told["model"]) == ("agentrt", True, "scripted/model")
        assert (told["owner"], told["scopes"], told["max_upload"]) == ("ada", ["observe"], 7)
        assert told["uptime"] >= 0
