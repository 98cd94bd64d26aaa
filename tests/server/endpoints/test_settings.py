"""The settings of a server: its agent, keys and secrets, which outlive it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agentrt import LLM, Agent, Runtime
from agentrt.secrets import Cipher
from agentrt.server import ServerSettings, create_app
from agentrt.server.running import serving
from agentrt.specs.llm import members
from agentrt.specs.mcp import MCPServer
from agentrt.testing import ScriptedLLM, ScriptedProvider, call, finish

from ...mcp.warm import server_of
from ..served import Client, served, token_of
from .helpers import settled

pytestmark = pytest.mark.real

KEY = "sk-a-key-that-nobody-else-has"
TOKENED = {"command": "x", "env": {"TOKEN": KEY}}
DEMO = server_of()
MARK = sha256(" ".join((DEMO["command"], *DEMO["args"])).encode()).hexdigest()[:6].upper()
"""What the names of the server's secrets end with."""


def model(**given: Any) -> dict[str, Any]:
    return {"type": "LLM", "model": "openai/x", **given}


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
        paths = ["context/load_project_skills", "context/skills", "llm", "system_prompt"]
        assert (status, sorted(now["changed"])) == (200, paths)
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
        assert (now["agent"]["llm"]["model"], sorted(now["changed"])) == ("openai/first", paths[:2])
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
        ({"changes": {"llm": model(api_key=KEY)}}, "where a key is a secret of its own"),
        ({"changes": {"llm": model(api_key_env=KEY)}}, "not the name of an environment"),
        ({"changes": {"llm": model(extra_headers={"Authorization": KEY})}}, "holds a key"),
        ({"changes": {"llm": model(base_url=f"http://me:{KEY}@h/v1")}}, "a password"),
        ({"changes": {"agents": {"a": {"llm": model(), "mcp_servers": {"s": TOKENED}}}}}, "name the secrets"),
        ({"changes": {"mcp_servers": {"s": {"url": f"h/mcp?token={KEY}"}}}}, "begins with http"),
        ({"changes": {"mcp_servers": ["x"]}}, "expected an object"),
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
        assert KEY not in str(problem) or "api_key_env" in str(body)
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
        call("terminal", command=f"echo [$MCP_DEMO_TOKEN_{MARK}]"),
        finish("Done."),
    ]
    async with ScriptedProvider(turns) as provider, calling(tmp_path, provider) as client:
        await client.ask("PUT", "/settings/secrets/OPENAI_API_KEY", {"value": KEY})
        given = {"demo": {**DEMO, "env": {"TOKEN": "ghp_0123456789abcdefghij0123456789abcdef"}}}
        changes = {"mcp_servers": given, "tools": ["terminal"]}
        status, now = await client.ask("PATCH", "/settings/agent", {"changes": changes})
        assert (status, now["agent"]["mcp_servers"]["demo"]["env"]) == (200, {"TOKEN": f"${{MCP_DEMO_TOKEN_{MARK}}}"})
        assert b"ghp_" not in written(tmp_path)
        _, made = await client.ask("POST", "/conversations", {"message": "Begin"})
        assert (await settled(client, made["id"]))["status"] == "finished"
        said = str(provider.requests[-1]["messages"])
        assert "ghp_" not in said
        assert "<secret-hidden>" in said
        assert "[]" in said, "no command gets it"
        assert "has it while it runs" not in said, "and the model is not told of it"
        await client.ask("PATCH", "/settings/agent", {"changes": {"mcp_servers": {"demo": None}}})
        _, found = await client.ask("GET", "/settings/secrets")
        assert f"MCP_DEMO_TOKEN_{MARK}" not in [one["name"] for one in found["items"]]


async def test_a_new_conversation_may_have_another_model_and_all_else_of_the_server(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        await client.ask("PATCH", "/settings/agent", {"changes": {"system_prompt": "You count ducks."}})
        agent = await begun(client, llm="openai/other")
        assert (model_of(agent), agent.system_prompt) == ("openai/other", "You count ducks.")


async def test_a_token_is_only_ever_for_the_server_that_it_was_given_for(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path), cipher=Cipher(Cipher.new_key())) as client:

        async def names(url: str, token: str) -> list[str]:
            server = {"demo": {"url": url, "headers": {"Authorization": f"Bearer {token}"}}}
            status, _ = await client.ask("PATCH", "/settings/agent", {"changes": {"mcp_servers": server}})
            assert status == 200
            _, found = await client.ask("GET", "/settings/secrets")
            return [one["name"] for one in found["items"] if not one["provider"]]

        first = await names("https://a.example.org/mcp", "a" * 40)
        assert await names("https://a.example.org/mcp", "b" * 40) == first, "a new token takes the place of the old"
        other = await names("https://b.example.org/mcp", "c" * 40)
        assert len(other) == len(first) == 1
        assert other != first


async def test_secrets_of_the_options_are_not_told_and_not_written(tmp_path: Path) -> None:
    server = MCPServer(command="x", env={"TOKEN": KEY})
    llm = LLM("openai/first", extra_headers={"Authorization": KEY}, base_url="http://me:a-pass-word@h/v1")
    agent = Agent(llm=llm, tools=(), mcp_servers={"own": server}, checkpoints=False)
    given = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), agent=agent)
    async with served(tmp_path, ScriptedLLM([]), given) as client:
        status, now = await client.ask("GET", "/settings/agent")
        assert status == 200
        assert KEY not in str(now)
        assert "a-pass-word" not in str(now)
        changes = {"mcp_servers": {"other": {"command": "y"}}, "system_prompt": "You count ducks."}
        assert (await client.ask("PATCH", "/settings/agent", {"changes": changes}))[0] == 200
        assert client.services.hosting.saved.agent is not None
        assert client.services.hosting.saved.agent.mcp_servers["own"] == server
        hidden = {"mcp_servers": {"own": now["agent"]["mcp_servers"]["own"]}}
        status, problem = await client.ask("PATCH", "/settings/agent", {"changes": hidden})
        assert (status, "give it again" in problem["detail"]) == (422, True)
    assert KEY.encode() not in written(tmp_path / "store")


async def test_plain_variables_of_a_server_are_filled_in_and_others_are_secrets(tmp_path: Path) -> None:
    server = MCPServer(command="x", args=("${HOME}", "${PORT:-8080}", "${CONFIG}", "${TOKEN}", "${LATER}", "${N:-n}"))
    agent = Agent(llm=LLM("openai/first"), tools=(), mcp_servers={"own": server}, checkpoints=False)
    given = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), agent=agent)
    environment = {"HOME": "/home/ada", "PORT": "80", "CONFIG": "/etc/x.json", "TOKEN": KEY}
    app = create_app(Runtime(tmp_path / "store", client=ScriptedLLM([]), environment=environment), given)
    (tmp_path / "workspaces").mkdir()
    async with serving(app, given) as url, aiohttp.ClientSession(cookies=token_of(app)) as session:
        client = Client(session, url, app)
        status, made = await client.ask("POST", "/conversations", {})
        assert status == 201, made
        state = client.services.hosting.state(made["id"])
        assert state is not None
        args = state.spec.mcp_servers["own"].args
        assert args == ("/home/ada", "80", "/etc/x.json", "${TOKEN}", "${LATER}", "${N:-n}")
        assert sorted(state.ledger.secrets) == ["LATER", "TOKEN"]


async def test_several_processes_see_what_the_others_save(tmp_path: Path) -> None:
    key = Cipher(Cipher.new_key())
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path), cipher=key) as one:
        async with served(tmp_path, ScriptedLLM([]), settings(tmp_path), cipher=key) as other:
            await one.ask("PUT", "/settings/secrets/OPENAI_API_KEY", {"value": KEY})
            await one.ask("PATCH", "/settings/agent", {"changes": {"description": "Counts"}})
            await other.ask("PATCH", "/settings/agent", {"changes": {"system_prompt": "You count ducks."}})
            for client in (one, other):
                _, now = await client.ask("GET", "/settings/agent")
                assert sorted(now["changed"]) == ["description", "system_prompt"]
                assert client.services.runtime.variables["OPENAI_API_KEY"] == KEY
            await other.ask("DELETE", "/settings/secrets/OPENAI_API_KEY")
            await one.ask("GET", "/settings/secrets")
            assert "OPENAI_API_KEY" not in one.services.runtime.variables.maps[0]


async def test_a_key_is_masked_also_where_a_conversation_is_open(tmp_path: Path) -> None:
    cipher = Cipher(Cipher.new_key())
    async with served(tmp_path, ScriptedLLM([finish("Done.")]), settings(tmp_path), cipher=cipher) as client:
        _, made = await client.ask("POST", "/conversations", {})
        await client.ask("PUT", "/settings/secrets/OPENAI_API_KEY", {"value": KEY})
        await client.ask("POST", f"/conversations/{made['id']}/message", {"content": f"It is {KEY}"})
        _, page = await client.ask("GET", f"/conversations/{made['id']}/events?type=MessageEvent")
        assert KEY not in str(page)


async def test_a_change_that_does_not_fit_any_more_is_told_and_can_be_undone(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        await client.ask("PATCH", "/settings/agent", {"changes": {"description": "Counts", "busy": "steer"}})
    (document,) = (path for path in (tmp_path / "store").rglob("server.json"))
    document.write_bytes(document.read_bytes().replace(b'"steer"', b'"gone"'))
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path)) as client:
        _, now = await client.ask("GET", "/settings/agent")
        assert (now["agent"].get("description"), sorted(now["changed"])) == (None, ["busy", "description"])
        status, problem = await client.ask("PATCH", "/settings/agent", {"changes": {"system_prompt": "You count."}})
        assert (status, "the saved change of 'busy' is not valid: reset it" in problem["detail"]) == (422, True)
        status, now = await client.ask("PATCH", "/settings/agent", {"reset": ["busy"]})
        assert (status, now["changed"], now["agent"]["description"]) == (200, ["description"], "Counts")


async def test_options_with_a_key_can_be_changed(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path, api_key=KEY)) as client:
        status, _ = await client.ask("PATCH", "/settings/agent", {"changes": {"system_prompt": "You count ducks."}})
        assert status == 200
