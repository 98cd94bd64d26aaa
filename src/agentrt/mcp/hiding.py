"""Secrets that stand in the configuration of MCP servers: the log has their names in their place."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ..context.resolving import Resolved
from ..sandboxes.environment import looks_secret
from ..secrets import SecretRegistry
from ..specs import Agent
from ..specs.credentials import AUTHORIZES, hidden
from ..specs.mcp import MCPServer


def hide_secrets(agent: Agent, secrets: SecretRegistry) -> Agent:
    """The agent, whose servers have their secrets from a conversation's."""
    agents = {name: hide_secrets(other, secrets) for name, other in agent.agents.items()}
    if any(agents[name] is not other for name, other in agent.agents.items()):
        agent = msgspec.structs.replace(agent, agents=agents)
    servers, given = without_secrets(agent.mcp_servers)
    if not given:
        return agent
    secrets.update(given)
    return msgspec.structs.replace(agent, mcp_servers=servers)


def hide_in(told: Resolved, secrets: SecretRegistry) -> Resolved:
    """An agent and the offers of its files: their servers have their secrets from a conversation's."""
    offers = []
    for offer in told.event.offers:
        servers, given = without_secrets(offer.servers)
        secrets.update(given)
        offers.append(msgspec.structs.replace(offer, servers=servers) if given else offer)
    event = msgspec.structs.replace(told.event, offers=tuple(offers))
    return msgspec.structs.replace(told, agent=hide_secrets(told.agent, secrets), event=event)


def without_secrets(servers: Mapping[str, MCPServer]) -> tuple[dict[str, MCPServer], dict[str, str]]:
    """The servers with `${NAME}` for the secrets of `auth`, and where a value of `env` or `headers` looks like one; and
    those values by NAME.
    """
    secrets: dict[str, str] = {}

    def stand_in(place: str, value: str) -> str:
        if "${" in value:
            return value
        name = re.sub(r"[^A-Z0-9_]", "_", f"MCP_{place}".upper())
        secrets[name] = value
        return f"${{{name}}}"

    def hide(server: str, values: Mapping[str, str]) -> dict[str, str]:
        return {
            name: stand_in(f"{server}_{name}", value) if looks_secret(name, value) or AUTHORIZES.search(name) else value
            for name, value in values.items()
        }

    def without(name: str, server: MCPServer) -> MCPServer:
        auth = hidden(server.credentials, lambda part, value: stand_in(f"{name}_auth_{part}", value))
        env, headers = hide(name, server.env), hide(name, server.headers)
        return msgspec.structs.replace(server, env=env, headers=headers, auth=auth)

    return {name: without(name, server) for name, server in servers.items()}, secrets
