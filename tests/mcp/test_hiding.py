"""Secrets in the configuration of servers."""

from __future__ import annotations

from agentrt import LLM, Agent
from agentrt.mcp.hiding import hide_secrets, without_secrets
from agentrt.secrets import SecretRegistry
from agentrt.specs.mcp import MCPServer


def test_what_looks_like_a_secret_becomes_one_and_the_rest_stays() -> None:
    server = MCPServer(command="x", env={"API_TOKEN": "abcdef-123456", "DEBUG": "1", "REF": "${OTHER}"})
    web = MCPServer(url="https://example.com", headers={"Authorization": "Bearer hunter2", "Accept": "text/plain"})
    servers, secrets = without_secrets({"a.b": server, "web": web})
    assert servers["a.b"].env == {"API_TOKEN": "${MCP_A_B_API_TOKEN}", "DEBUG": "1", "REF": "${OTHER}"}
    assert servers["web"].headers == {"Authorization": "${MCP_WEB_AUTHORIZATION}", "Accept": "text/plain"}
    assert secrets == {"MCP_A_B_API_TOKEN": "abcdef-123456", "MCP_WEB_AUTHORIZATION": "Bearer hunter2"}


async def test_a_conversation_has_them_and_its_agent_has_not() -> None:
    registry = SecretRegistry({})
    agent = Agent(llm=LLM(model="x"), mcp_servers={"a": MCPServer(command="x", env={"API_TOKEN": "abcdef-123456"})})
    hidden = hide_secrets(agent, registry)
    assert "abcdef" not in repr(hidden)
    assert await registry.named_in("$MCP_A_API_TOKEN") == {"MCP_A_API_TOKEN": "abcdef-123456"}
    assert hide_secrets(hidden, registry) is hidden
