"""An MCP server with a tool that adds, and one that programs filter out."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("sums")


@server.tool()
def add(one: int, other: int) -> int:
    """Add two numbers."""
    return one + other


@server.tool()
def forget() -> str:
    """Forget everything."""
    return "forgotten"


if __name__ == "__main__":
    server.run("stdio")
