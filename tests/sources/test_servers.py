"""Files of MCP servers, as other programs have them."""

from __future__ import annotations

import json

import pytest

from agentrt.errors import ConfigurationError
from agentrt.sources.servers import read_servers

pytestmark = pytest.mark.pure

GIVEN = {"a": {"command": "x", "env": {"T": "${TOKEN}"}, "autoApprove": ["y"]}, "b": {"type": "sse", "url": "http://b"}}


@pytest.mark.parametrize("key", ["mcpServers", "servers"])
def test_the_usual_files_are_read_and_what_is_not_known_is_left_out(key: str) -> None:
    served = read_servers(json.dumps({key: GIVEN, "inputs": []}), "f")
    assert {name: server.way for name, server in served.servers.items()} == {"a": "stdio", "b": "sse"}
    assert served.variables == ("TOKEN",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "f is not JSON"),
        ("[]", 'f has no servers: expected {"mcpServers"'),
        ('{"mcpServers": {"a": 3}}', "f"),
        ('{"mcpServers": {"a": {}}}', "needs a command or a url"),
        ('{"mcpServers": {"a b": {"command": "x"}}}', "invalid name of an MCP server"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says.replace("{", r"\{").replace("(", r"\(")):
        read_servers(text, "f")
