"""Pins the programs of an agent, so that only a person changes what is run without a question."""

from __future__ import annotations

import anyio.to_thread
from msgspec.structs import replace

from ..hooks.pinning import pinned as pinned_hooks
from ..mcp.programs import pinned as pinned_servers
from ..specs import Agent


async def pinned(agent: Agent, workspace: str) -> Agent:
    """Return an agent with the programs of its hooks and MCP servers pinned as they are in the workspace now."""
    if agent.mcp_servers:
        servers = await anyio.to_thread.run_sync(pinned_servers, agent.mcp_servers, workspace)
        agent = replace(agent, mcp_servers=servers)
    if agent.hooks:
        agent = replace(agent, hooks=await anyio.to_thread.run_sync(pinned_hooks, agent.hooks, workspace))
    if any(other.hooks or other.mcp_servers for other in agent.agents.values()):
        agents = {name: await pinned(other, workspace) for name, other in agent.agents.items()}
        agent = replace(agent, agents=agents)
    return agent
