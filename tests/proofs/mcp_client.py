"""What the conformance suite has our client do: `python -m tests.proofs.mcp_client URL`, by the scenario's name."""

from __future__ import annotations

import os
import sys

import anyio

from agentrt.mcp.connection import connected
from agentrt.specs.mcp import MCPServer

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}


async def main(url: str) -> int:
    """Connect, and call what the scenario's server has."""
    async with connected("suite", MCPServer(url=url, connect_timeout=10, timeout=20)) as connection:
        standing = await connection.ready()
        if standing.problem:
            print(standing.problem, file=sys.stderr)
            return 1
        if os.environ.get("MCP_CONFORMANCE_SCENARIO") != "initialize":
            for tool in standing.listed.tools:
                await connection.call(tool.name, ARGUMENTS.get(tool.name, {}))
    return 0


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[1]))
