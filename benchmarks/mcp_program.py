"""A small MCP server over stdio: `python benchmarks/mcp_program.py`."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("small")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


if __name__ == "__main__":
    server.run("stdio")
