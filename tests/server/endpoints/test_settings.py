"""The settings of a server: its agent, keys and secrets, which outlive it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agentrt import LLM, Agent, Runtime
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.specs.llm import members
from agentrt.testing import ScriptedLLM, ScriptedProvider, call, finish

from ...mcp.warm import server_of
from ..served import Client, served, token_of
from .helpers import settled

pytestmark = pytest.mark.real

KEY = "sk-a-key-that-nobody-else-has"


def settings(directory: Path, model: str = "openai/first", **given: Any) -> ServerSettings:
    agent = Agent(llm=LLM(model, **given), tools=(), checkpoints=False)
    return ServerSettings(port=0, workspaces=(directory / "workspaces",), agent=agent)


@asynccontextmanager
async def calling(directory: Path, provider: ScriptedProvider) -> AsyncIterator[Client]:
    """A client of a server that calls models over HTTP, and whose environment has no keys."""
    (directory / "workspaces").mkdir(exist_ok=True)
    environment = {"OPENAI_BASE_URL": provider.base_url}
    given = settings(directory, api_key_env="OPENAI_API_KEY")
    app = create_app(Runtime(directory / "store", environment=environment, home=directory / "home"), given)
    async with serving(app, given) as url, aiohttp.ClientSession(cookies=token_of(app)) as session:
        yield Client(session, url, app)


def written(directory: Path) -> bytes:
    """Everything that is in the files below a directory."""
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def model_of(agent: Agent) -> str:
    return members(agent.llm)[0].model


async def begun(client: Client, **fields: Any) -> Agent:
    """The agent of a new conversation."""
    status, made = await client.ask("POST", "/conversations", fields)
    assert status == 201, made
    agent = client.services.hosting.state(made["id"])
    assert agent is not None
    return agent.spec


async def test_changes_hold_for_new_conversations_and_after_a_restart(tmp_path: Path) -> None:
    changes = {
        "llm": "openai/second",
        "system_prompt": "You count ducks.",
        "context": {"skills": [{"name": "ducks", "body": "Ducks are counted in pairs."}], "load_project_skills": False},
    }
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        status, now = await client.ask("GET", "/settings/agent")
        assert (status, now["agent"]["llm"]["model"], now["changed"]) == (200, "openai/first", [])
        status, now = await client.ask("PATCH", "/settings/agent", {"changes": changes})
        assert (status, sorted(now["changed"])) == (200, sorted(changes))
        agent = await begun(client)
        assert (model_of(agent), agent.system_prompt) == ("openai/second", "You count ducks.")
        assert (await client.ask("GET", "/server_info"))[1]["model"] == "openai/second"
        assert (await client.ask("GET", "/models"))[1]["own"]["llm"]["model"] == "openai/second"
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        agent = await begun(client)
        assert agent.system_prompt == "You count ducks."
        assert agent.context is not None
        assert agent.context.skills[0].name == "ducks"
        status, now = await client.ask("PATCH", "/settings/agent", {"reset": ["llm", "system_prompt"]})
        assert (now["agent"]["llm"]["model"], now["changed"]) == ("openai/first", ["context"])
        assert "system_prompt" not in now["agent"]


async def test_an_option_that_was_given_since_holds(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        changes = {"llm": "openai/second", "system_prompt": "You count ducks."}
        assert (await client.ask("PATCH", "/settings/agent", {"changes": changes}))[0] == 200
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path, "openai/third")) as client:
        agent = await begun(client)
        assert (model_of(agent), agent.system_prompt) == ("openai/third", "You count ducks.")
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        assert model_of(await begun(client)) == "openai/second"


async def test_a_server_without_an_agent_gets_one(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        assert (await client.ask("GET", "/settings/agent"))[1] == {"agent": None, "changed": []}
        status, problem = await client.ask("POST", "/conversations", {})
        assert (status, problem["code"]) == (422, "configuration")
        assert (await client.ask("PATCH", "/settings/agent", {"changes": {"description": "Counts"}}))[1][
            "agent"
        ] is None
        assert (await client.ask("PATCH", "/settings/agent", {"changes": {"llm": "openai/second"}}))[0] == 200
        agent = await begun(client)
        assert (agent.description, agent.confirmation.__class__.__name__) == ("Counts", "ConfirmRisky")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"changes": {"lmm": "x"}}, "did you mean 'llm'?"),
        ({"reset": ["prompt"]}, "Agent has no argument 'prompt'"),
        ({"changes": {"llm": {"type": "LLM", "model": "openai/x", "api_key": KEY}}}, "under the name of its variable"),
        ({"changes": {"llm": "opnai/x"}}, "opnai/x"),
        ({"changes": {"tools": ["termnal"]}}, "termnal"),
        ({"changes": {"mcp_servers": {"a b": {"command": "x"}}}}, "a b"),
        ({"changes": {"system_prompt": 3}}, "str"),
    ],
)
async def test_what_is_not_valid_is_refused_and_changes_nothing(tmp_path: Path, body: Any, detail: str) -> None:
    async with ScriptedProvider([]) as provider, calling(tmp_path, provider) as client:
        status, problem = await client.ask("PATCH", "/settings/agent", body)
        assert status == 422, problem
        assert detail in problem["detail"]
        assert (await client.ask("GET", "/settings/agent"))[1]["changed"] == []
    assert KEY.encode() not in written(tmp_path)


async def test_a_key_is_used_from_the_next_call_on_and_is_nowhere_in_the_clear(tmp_path: Path) -> None:
    async with ScriptedProvider([finish("Done.")] * 3) as provider:
        async with calling(tmp_path, provider) as client:
            status, problem = await client.ask("POST", "/conversations", {"message": "Begin"})
            assert (status, problem["code"]) == (422, "missing-key")
            status, found = await client.ask("PUT", "/settings/secrets/OPENAI_API_KEY", {"value": f" {KEY}\n"})
            assert status == 200
            openai = next(one for one in found["items"] if one["name"] == "OPENAI_API_KEY")
            assert openai == {"name": "OPENAI_API_KEY", "provider": "openai", "source": "saved", "readable": True}
            assert KEY not in str(found)
            _, made = await client.ask("POST", "/conversations", {"message": "Begin"})
            assert (await settled(client, made["id"]))["status"] == "finished"
            assert provider.keys[-1] == f"Bearer {KEY}"
        async with calling(tmp_path, provider) as client:
            _, made = await client.ask("POST", "/conversations", {"message": "Begin"})
            assert (await settled(client, made["id"]))["status"] == "finished"
            assert provider.keys[-1] == f"Bearer {KEY}"
            assert (await client.ask("DELETE", "/settings/secrets/OPENAI_API_KEY"))[0] == 204
            assert (await client.ask("DELETE", "/settings/secrets/OPENAI_API_KEY"))[0] == 404
            assert (await client.ask("POST", "/conversations", {"message": "Begin"}))[0] == 422
    assert KEY.encode() not in written(tmp_path)


async def test_a_secret_of_a_key_that_is_gone_is_told_and_can_be_saved_again(tmp_path: Path) -> None:
    async with ScriptedProvider([finish("Done.")]) as provider:
        async with calling(tmp_path, provider) as client:
            await client.ask("PUT", "/settings/secrets/OPENAI_API_KEY", {"value": KEY})
        (tmp_path / "home" / ".config" / "agentrt" / "secrets.key").unlink()
        async with calling(tmp_path, provider) as client:
            _, found = await client.ask("GET", "/settings/secrets")
            assert [one["readable"] for one in found["items"] if one["name"] == "OPENAI_API_KEY"] == [False]
            _, found = await client.ask("PUT", "/settings/secrets/OPENAI_API_KEY", {"value": KEY})
            assert [one["readable"] for one in found["items"] if one["name"] == "OPENAI_API_KEY"] == [True]


@pytest.mark.parametrize(("name", "value"), [("A-B", KEY), ("PATH", KEY), ("TOKEN", "x"), ("TOKEN", "")])
async def test_a_name_or_a_value_that_no_variable_has_is_refused(tmp_path: Path, name: str, value: str) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        status, _ = await client.ask("PUT", f"/settings/secrets/{name}", {"value": value})
        assert status == 422
        _, found = await client.ask("GET", "/settings/secrets")
        assert name not in [one["name"] for one in found["items"]]


@pytest.mark.usefixtures("warm_servers")
async def test_the_secrets_of_an_mcp_server_are_kept_apart_and_reach_it(tmp_path: Path) -> None:
    turns = [
        call("environment", name="TOKEN"),
        call("terminal", command="echo [$MCP_DEMO_TOKEN]"),
        finish("Done."),
    ]
    async with ScriptedProvider(turns) as provider, calling(tmp_path, provider) as client:
        await client.ask("PUT", "/settings/secrets/OPENAI_API_KEY", {"value": KEY})
        given = {"demo": {**server_of(), "env": {"TOKEN": "ghp_0123456789abcdefghij0123456789abcdef"}}}
        changes = {"mcp_servers": given, "tools": ["terminal"]}
        status, now = await client.ask("PATCH", "/settings/agent", {"changes": changes})
        assert (status, now["agent"]["mcp_servers"]["demo"]["env"]) == (200, {"TOKEN": "${MCP_DEMO_TOKEN}"})
        assert b"ghp_" not in written(tmp_path)
        _, made = await client.ask("POST", "/conversations", {"message": "Begin"})
        assert (await settled(client, made["id"]))["status"] == "finished"
        said = str(provider.requests[-1]["messages"])
        assert "ghp_" not in said
        assert "<secret-hidden>" in said
        assert "[]" in said, "no command gets it"
        assert "has it while it runs" not in said, "and the model is not told of it"
        await client.ask("PATCH", "/settings/agent", {"changes": {"mcp_servers": {}}})
        _, found = await client.ask("GET", "/settings/secrets")
        assert "MCP_DEMO_TOKEN" not in [one["name"] for one in found["items"]]


async def test_a_new_conversation_may_have_another_model_and_all_else_of_the_server(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        await client.ask("PATCH", "/settings/agent", {"changes": {"system_prompt": "You count ducks."}})
        agent = await begun(client, llm="openai/other")
        assert (model_of(agent), agent.system_prompt) == ("openai/other", "You count ducks.")
