"""Secrets in the configuration of servers."""

from __future__ import annotations

import pytest

from agentrt import LLM, Agent
from agentrt.mcp.hiding import hide_secrets, without_secrets
from agentrt.secrets import SecretRegistry
from agentrt.specs.credentials import BearerAuth
from agentrt.specs.mcp import MCPServer

pytestmark = pytest.mark.pure


def test_what_looks_like_a_secret_becomes_one_and_the_rest_stays() -> None:
    server = MCPServer(command="x", env={"API_TOKEN": "abcdef-123456", "DEBUG": "1", "REF": "${OTHER}"})
    web = MCPServer(url="https://example.com", headers={"Authorization": "Bearer hunter2", "Accept": "text/plain"})
    servers, secrets = without_secrets({"a.b": server, "web": web})
    assert servers["a.b"].env == {"API_TOKEN": "${MCP_A_B_API_TOKEN}", "DEBUG": "1", "REF": "${OTHER}"}
    assert servers["web"].headers == {"Authorization": "${MCP_WEB_AUTHORIZATION}", "Accept": "text/plain"}
    assert secrets == {"MCP_A_B_API_TOKEN": "abcdef-123456", "MCP_WEB_AUTHORIZATION": "Bearer hunter2"}


@pytest.mark.simulated
async def test_a_conversation_has_them_and_its_agent_has_not() -> None:
    registry = SecretRegistry({})
    agent = Agent(llm=LLM(model="x"), mcp_servers={"a": MCPServer(command="x", env={"API_TOKEN": "abcdef-123456"})})
    hidden = hide_secrets(agent, registry)
    assert "abcdef" not in repr(hidden)
    assert await registry.named_in("$MCP_A_API_TOKEN") == {"MCP_A_API_TOKEN": "abcdef-123456"}
    assert hide_secrets(hidden, registry) is hidden


def test_names_that_are_alike_stand_for_secrets_of_their_own() -> None:
    one, other = ({"API_TOKEN": value} for value in ("good-111111", "evil-222222"))
    servers = {"a.b": MCPServer(command="x", env=one), "a-b": MCPServer(command="x", env=other)}
    made, secrets = without_secrets(servers, taken=["MCP_A_B_API_TOKEN"])
    assert [made[name].env["API_TOKEN"] for name in servers] == ["${MCP_A_B_API_TOKEN_2}", "${MCP_A_B_API_TOKEN_3}"]
    assert [*secrets.values()] == ["good-111111", "evil-222222"]


def test_another_servers_secret_is_never_replaced() -> None:
    registry = SecretRegistry({})
    registry.update({"MCP_WEB_AUTH_TOKEN": "mine-123456"})
    agent = Agent(llm=LLM(model="x"), mcp_servers={"web": MCPServer(url="https://a", auth="theirs-654321")})
    assert hide_secrets(agent, registry).mcp_servers["web"].auth == BearerAuth("${MCP_WEB_AUTH_TOKEN_2}")


def test_arguments_and_addresses_have_secrets_too() -> None:
    args = ("--api-key", "sk-canary-1", "--token=sk-canary-2", "--verbose", "--max-tokens", "4096", "-key", "${KEY}")
    url = "http://user:canary-pw@host/mcp?api_key=canary-url&page=2"
    made, secrets = without_secrets(
        {"a": MCPServer(command="x", args=args, env={"MAX_TOKENS": "4096"}), "b": MCPServer(url=url)}
    )
    assert made["a"].args[1] == "${MCP_A_API_KEY}"
    assert made["a"].args[2] == "--token=${MCP_A_TOKEN}"
    assert made["a"].args[3:] == args[3:]
    assert made["a"].env == {"MAX_TOKENS": "4096"}
    assert made["b"].url == "http://${MCP_B_URL_LOGIN}@host/mcp?api_key=${MCP_B_URL_API_KEY}&page=2"
    assert set(secrets.values()) == {"sk-canary-1", "sk-canary-2", "user:canary-pw", "canary-url"}
