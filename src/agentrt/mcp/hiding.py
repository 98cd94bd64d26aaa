"""Secrets that stand in the configuration of MCP servers: the log has their names in their place."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ..context.resolving import Resolved
from ..sandboxes.environment import looks_secret
from ..secrets import SecretRegistry
from ..specs import Agent
from ..specs.mcp import MCPServer

_AUTHORIZES = re.compile(r"auth|cookie|key|token", re.IGNORECASE)
"""Headers and variables that say who asks."""


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
    """The servers with `${NAME}` where a value of `env` or `headers` looks like a secret, and those values by NAME."""
    secrets: dict[str, str] = {}

    def hidden(server: str, values: Mapping[str, str]) -> dict[str, str]:
        return {name: _hidden(server, name, value, secrets) for name, value in values.items()}

    made = {
        name: msgspec.structs.replace(one, env=hidden(name, one.env), headers=hidden(name, one.headers))
        for name, one in servers.items()
    }
    return made, secrets


def _hidden(server: str, name: str, value: str, secrets: dict[str, str]) -> str:
    if "${" in value or not (looks_secret(name, value) or _AUTHORIZES.search(name)):
        return value
    stands = re.sub(r"[^A-Z0-9_]", "_", f"MCP_{server}_{name}".upper())
    secrets[stands] = value
    return f"${{{stands}}}"
