"""Permissions at `/mcp`: by the scopes of a key, and by whose session it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from agentrt.server.principals import Scope
from agentrt.testing import ScriptedLLM
from mcp import Client, MCPError
from tests.server.auth.doors import Doors, doors
from tests.stores import make_key

pytestmark = pytest.mark.real

BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


@asynccontextmanager
async def client(at: Doors, name: str) -> AsyncIterator[Client]:
    with anyio.fail_after(40):
        async with httpx2.AsyncClient(headers=at.header(name)) as http:
            streams = streamable_http_client(f"{at.client.url}/mcp", http_client=http)
            async with Client(streams, mode="legacy") as found:
                yield found


@pytest.mark.parametrize("scope", [Scope.STEER, Scope.APPROVE])
async def test_a_key_without_observe_reads_nothing(tmp_path: Path, scope: Scope) -> None:
    async with doors(tmp_path, ScriptedLLM([]), rate=None) as at:
        made = await at.begin("ada", title="mine")
        at.keys["half"] = await make_key(at.root, "ada", [scope])
        async with client(at, "half") as half:
            given: dict[str, dict[str, Any]] = {"wait": {"conversation": made}, "read_events": {"conversation": made}}
            for tool, arguments in {**given, "list_conversations": {}}.items():
                result = await half.call_tool(tool, arguments)
                assert result.is_error
                assert "observe" in str(result.content)
            assert (await half.list_resources()).resources == []
            with pytest.raises(MCPError, match="observe"):
                await half.read_resource(f"agentrt://conversations/{made}")
            said = await half.call_tool("confirm", {"conversation": made})
            assert "mine" not in str(said.content)
            assert said.is_error is (scope is not Scope.APPROVE)
        async with client(at, "ada") as ada:
            assert not (await ada.call_tool("read_events", {"conversation": made})).is_error


async def test_nobody_speaks_in_the_session_of_another(tmp_path: Path) -> None:
    async with doors(tmp_path, ScriptedLLM([]), rate=None) as at, httpx2.AsyncClient() as http:
        url, kinds = f"{at.client.url}/mcp", {"Accept": "application/json, text/event-stream"}
        begun = await http.post(url, json=BEGIN, headers=at.header("ada") | kinds)
        session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-06-18"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for method in ("POST", "DELETE", "GET"):
            body = {"json": ping} if method == "POST" else {}
            found = await http.request(method, url, headers=at.header("bob") | kinds | session, **body)  # type: ignore[arg-type]
            assert found.status_code == 404, method
        assert (await http.post(url, json=ping, headers=at.header("ada") | kinds | session)).status_code == 200
