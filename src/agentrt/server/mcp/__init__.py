"""Conversations as tools and resources of an MCP server: for other agents, over stdio and at `/mcp`."""
