"""MCP servers as an agent's configuration has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from agentrt import LLM, Agent
from agentrt.errors import ConfigurationError
from agentrt.sources.servers import brought_in, read_servers
from agentrt.specs.agent import replaced
from agentrt.specs.mcp import MCPServer, expanded
from agentrt.specs.shorthand import decode_short

pytestmark = pytest.mark.pure

MODEL = LLM(model="scripted")


def servers(given: Any) -> dict[str, MCPServer]:
    return Agent(llm=MODEL, mcp_servers=given).mcp_servers


def test_the_usual_files_are_read() -> None:
    given = {
        "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "${TOKEN}"}},
        "web": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${KEY:-none}"}},
        "old": {"url": "http://localhost/sse", "type": "sse"},
        "new": {"url": "http://localhost/mcp", "transport": "streamable-http"},
    }
    found = servers(given)
    assert [server.way for server in found.values()] == ["stdio", "http", "sse", "http"]
    assert (found["git"].variables, found["web"].variables) == (("TOKEN",), ("KEY",))
    agent = Agent(llm=MODEL, mcp_config={"mcpServers": given}, mcp_servers={"git": {"command": "own"}})
    assert list(agent.mcp_servers) == ["git", "web", "old", "new"]
    assert agent.mcp_servers["git"].command == "own"
    assert msgspec.json.decode(msgspec.json.encode(agent), type=Agent) == agent


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"x": {}}, "needs a command or a url"),
        ({"x": {"command": "a", "url": "http://b"}}, "not both"),
        ({"x": {"url": "ftp://b"}}, "begins with http"),
        ({"x": {"command": "a", "transport": "sse"}}, "sse needs a url"),
        ({"x": {"url": "http://b", "transport": "stdio"}}, "stdio needs a command"),
        ({"x": {"command": "a", "transport": "carrier pigeon"}}, "expected stdio, http or sse"),
        ({"x y": {"command": "a"}}, "invalid name of an MCP server 'x y'"),
        ({"x": {"command": "a", "timeout": 0}}, "timeout"),
        ({"x": {"comand": "a"}}, "comand"),
        ({"x": "a"}, "x"),
        ("a", "mcp_servers"),
    ],
)
def test_what_cannot_be_is_one_clear_error(given: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        servers(given)


def test_a_filter_that_is_no_expression_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="filter_tools_regex"):
        Agent(llm=MODEL, filter_tools_regex="(")


def test_variables_are_filled_in_and_those_that_are_missing_are_named() -> None:
    server = MCPServer(command="${BIN:-python}", args=("-m", "${MODULE}"), env={"T": "a-${TOKEN}-b"}, cwd="${HERE:-}")
    made = expanded(server, {"MODULE": "x", "TOKEN": "t"}.get)
    assert (made.command, made.args, made.env, made.cwd) == ("python", ("-m", "x"), {"T": "a-t-b"}, "")
    with pytest.raises(ConfigurationError, match="it needs MODULE, TOKEN"):
        expanded(server, lambda name: None)


FOREIGN: dict[str, Any] = {
    "cline": {"command": "a", "autoApprove": ["x"], "description": "d", "disabled": True},
    "gemini": {"httpUrl": "http://b", "trust": True, "includeTools": ["one"], "excludeTools": ["two"]},
    "windsurf": {"serverUrl": "http://c", "disabledTools": ["two"]},
    "opencode": {"type": "local", "command": ["d", "e"], "environment": {"F": "g"}, "enabled": False},
    "remote": {"type": "remote", "url": "http://h", "gallery": 1},
}
MEANT = {
    "cline": MCPServer(command="a", disabled=True, ignored=("autoApprove", "description")),
    "gemini": MCPServer(url="http://b", include=("one",), exclude=("two",), ignored=("trust",)),
    "windsurf": MCPServer(url="http://c", exclude=("two",)),
    "opencode": MCPServer(command="d", args=("e",), env={"F": "g"}, transport="stdio", disabled=True),
    "remote": MCPServer(url="http://h", transport="http", ignored=("gallery",)),
}


def from_rest(given: Any) -> dict[str, MCPServer]:
    data = msgspec.json.encode({"llm": "scripted", "mcp_servers": given})
    return decode_short(data, Agent, lambda data: msgspec.json.decode(data, type=Agent)).mcp_servers


@pytest.mark.parametrize(
    "read",
    [
        servers,
        lambda given: Agent(llm=MODEL, mcp_config={"mcpServers": given}).mcp_servers,
        lambda given: read_servers(json.dumps({"mcpServers": given}), "a file").servers,
        lambda given: brought_in({"mcpServers": given}, "front matter"),
        lambda given: replaced(Agent(llm=MODEL), {"mcp_servers": given}).mcp_servers,
        from_rest,
    ],
    ids=["mcp_servers", "mcp_config", "file", "front matter", "change", "REST"],
)
def test_files_of_other_programs_are_read_alike_everywhere(read: Callable[[Any], dict[str, MCPServer]]) -> None:
    assert read(FOREIGN) == MEANT
    assert read(msgspec.to_builtins(MEANT)) == MEANT, "what was read can be given back"


def test_our_own_name_counts_more_than_that_of_another_program() -> None:
    given = {"x": {"url": "http://ours", "httpUrl": "http://theirs", "disabled": False, "enabled": False}}
    assert servers(given) == {"x": MCPServer(url="http://ours", disabled=True, ignored=("httpUrl",))}, "off counts"
