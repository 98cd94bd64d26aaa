"""An MCP server for other agents, over stdio and at `/mcp`: its tools and resources are conversations."""
