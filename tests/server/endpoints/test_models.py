"""The models that a server offers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentrt import LLM, Agent
from agentrt.llm.profiles import ProfileStore
from agentrt.server import ServerSettings
from agentrt.server.principals import Principal, Scope
from agentrt.testing import ScriptedLLM

from ..served import served
from .helpers import begin

pytestmark = pytest.mark.real

OWN = LLM(model="openai/house", base_url="http://127.0.0.1:9/v1", input_cost_per_token=1e-6, output_cost_per_token=0.0)
LOCAL = LLM(model="openai/local", base_url="http://127.0.0.1:10/v1")


def _settings(directory: Path) -> ServerSettings:
    agent = Agent(llm=OWN, checkpoints=False)
    return ServerSettings(port=0, workspaces=(directory / "workspaces",), agent=agent)


async def test_the_servers_own_model_and_its_profiles(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    ProfileStore(tmp_path / "store" / "profiles.json").save("local", LOCAL)
    async with served(tmp_path, ScriptedLLM([]), _settings(tmp_path)) as client:
        status, found = await client.ask("GET", "/models?query=anything")
        assert status == 200
        assert found["own"]["llm"]["base_url"] == OWN.base_url
        assert (found["own"]["known"]["input_cost"], found["own"]["known"]["output_cost"]) == (1e-6, 0.0)
        assert [(one["name"], one["llm"]["base_url"]) for one in found["profiles"]] == [("local", LOCAL.base_url)]
        assert found["profiles"][0]["known"]["input_cost"] is None
        assert (found["items"], found["truncated"]) == ([], False)


async def test_the_model_of_a_conversation(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        made = await begin(client)
        llm = {"type": "LLM", "model": "scripted/blind", "vision": False}
        assert (await client.ask("POST", f"/conversations/{made['id']}/switch_llm", {"llm": llm}))[0] == 200
        status, known = await client.ask("GET", f"/conversations/{made['id']}/model")
        assert (status, known["model"], known["vision"], known["input_cost"]) == (200, "scripted/blind", False, None)


async def test_a_broken_file_of_profiles_is_told(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "profiles.json").write_text("{")
    async with served(tmp_path, ScriptedLLM([]), _settings(tmp_path)) as client:
        status, problem = await client.ask("GET", "/models")
        assert (status, problem["code"]) == (422, "configuration")


async def test_who_may_not_name_an_address_may_have_a_profile_and_no_other(tmp_path: Path) -> None:
    async def steering(connection: Any) -> Principal:
        return Principal("ada", frozenset({Scope.STEER, Scope.OBSERVE}))

    (tmp_path / "store").mkdir()
    ProfileStore(tmp_path / "store" / "profiles.json").save("local", LOCAL)
    async with served(tmp_path, ScriptedLLM([]), _settings(tmp_path), steering) as client:
        status, made = await client.ask("POST", "/conversations", {})
        assert status == 201
        address = f"/conversations/{made['id']}/switch_llm"
        wanted = {"type": "LLM", "model": "openai/local", "base_url": LOCAL.base_url}
        assert (await client.ask("POST", address, {"llm": wanted}))[0] == 200
        for other in ({"base_url": "http://127.0.0.1:11/v1"}, {"model": "anthropic/x"}, {"api_key_env": "HOME"}):
            status, problem = await client.ask("POST", address, {"llm": wanted | other})
            assert (status, problem["code"]) == (403, "scope"), other
