"""What the conformance suite has our client do: `python -m tests.proofs.mcp_client URL`, by the scenario's name.

A person is there who logs in at once, and who leaves forms as they are.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import anyio
import httpx2

from agentrt.errors import ToolError
from agentrt.mcp.answering import Caller
from agentrt.mcp.connection import Connection, connected
from agentrt.mcp.login import Person, log_in
from agentrt.mcp.loopback import loopback
from agentrt.mcp.tokens import Tokens, tokens_of
from agentrt.secrets import Cipher, StoreKey
from agentrt.specs.credentials import OAuth
from agentrt.specs.mcp import MCPServer
from agentrt.storage.memory import MemoryStorage

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
METADATA = "https://conformance-test.local/client-metadata.json"
MOST_LOGINS = 2


async def main(url: str) -> int:
    """Connect, and call what the scenario's server has; where a login is asked for, log in, and go on."""
    server = MCPServer(url=url, connect_timeout=10, timeout=20, auth=credentials() if is_auth() else None)
    tokens = tokens_of(MemoryStorage().shelf, StoreKey(Cipher(Cipher.new_key()), None))(None)
    async with connected("suite", server, tokens=tokens) as connection:
        for _ in range(MOST_LOGINS + 1):
            standing = await connection.ready()
            try:
                if standing.problem:
                    raise ToolError(standing.problem)
                await work(connection)
                return 0
            except ToolError as error:
                print(error, file=sys.stderr)
                if not is_auth():
                    return 1
                await visit_login(server, tokens)
                await connection.retried()
    return 1


async def work(connection: Connection) -> None:
    """Call each tool. Raises `ToolError`."""

    async def leave_as_it_is(message: str, form: dict[str, Any] | None, url: str) -> tuple[str, dict[str, Any]]:
        return "accept", {}

    if SCENARIO == "initialize":
        return
    for tool in connection.standing.listed.tools:
        await connection.call(tool.name, ARGUMENTS.get(tool.name, {}), Caller(asked=leave_as_it_is))


def is_auth() -> bool:
    """Whether the scenario is about a login."""
    return SCENARIO.startswith("auth/")


def credentials() -> OAuth:
    """Those that the scenario gives, or none."""
    if SCENARIO == "auth/basic-cimd":
        return OAuth(client_id=METADATA)
    return OAuth(client_id=CONTEXT.get("client_id", ""), client_secret=CONTEXT.get("client_secret", ""))


async def visit_login(server: MCPServer, tokens: Tokens) -> None:
    """Log in as a browser does. Raises `ToolError`."""

    async def visit(url: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            await browser.get(url)

    async with loopback() as (redirect, answered):
        await log_in(server, tokens, Person(redirect, visit, answered))


if __name__ == "__main__":
    try:
        sys.exit(anyio.run(main, sys.argv[1]))
    except ToolError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
