"""Replaces secrets in the configuration of MCP servers by names, so that the log has only these."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from ..context.resolving import Resolved
from ..sandboxes.environment import is_setting, looks_secret
from ..secrets import SecretRegistry
from ..specs import Agent
from ..specs.credentials import AUTHORIZES, SHORTEST, hidden
from ..specs.mcp import MCPServer

_LOGIN = re.compile(r"^([a-z][a-z0-9+.-]*://)([^/@\s]+)@", re.IGNORECASE)
_QUERY = re.compile(r"([?&])([^=&#]+)=([^&#]+)")


def hide_secrets(agent: Agent, secrets: SecretRegistry) -> Agent:
    """Move the secrets of an agent's servers to a conversation's `secrets`, and return the agent without them."""
    agents = {name: hide_secrets(other, secrets) for name, other in agent.agents.items()}
    if any(agents[name] is not other for name, other in agent.agents.items()):
        agent = msgspec.structs.replace(agent, agents=agents)
    servers = _hidden(agent.mcp_servers, secrets)
    return agent if servers is None else msgspec.structs.replace(agent, mcp_servers=servers)


def hide_in(told: Resolved, secrets: SecretRegistry) -> Resolved:
    """Do the same for an agent and the offers of its files."""
    offers = []
    for offer in told.event.offers:
        servers = _hidden(offer.servers, secrets)
        offers.append(offer if servers is None else msgspec.structs.replace(offer, servers=servers))
    event = msgspec.structs.replace(told.event, offers=tuple(offers))
    return msgspec.structs.replace(told, agent=hide_secrets(told.agent, secrets), event=event)


def _hidden(servers: Mapping[str, MCPServer], secrets: SecretRegistry) -> dict[str, MCPServer] | None:
    """Move the servers' secrets to a conversation's. Return the servers without them, None if they have none."""
    made, given = without_secrets(servers, secrets.names)
    secrets.update(given)
    return made if given else None


def without_secrets(
    servers: Mapping[str, MCPServer], taken: Collection[str] = ()
) -> tuple[dict[str, MCPServer], dict[str, str]]:
    """Return the servers with `${NAME}` in place of their secrets, and the secrets by NAME. No name is in `taken`.

    Secrets are those of `auth`, the login in an address, and values that look like secrets in `env`, in `headers`, in
    arguments such as `--token=...` and `NAME=...`, and in the query of an address.
    """
    secrets: dict[str, str] = {}

    def stand_in(place: str, value: str) -> str:
        if "${" in value or len(value) < SHORTEST:
            return value
        base = name = re.sub(r"[^A-Z0-9_]", "_", f"MCP_{place}".upper())
        number = 2
        while name in secrets or name in taken:  # the name is in use, perhaps by a server with a similar name
            name, number = f"{base}_{number}", number + 1
        secrets[name] = value
        return f"${{{name}}}"

    def hide(server: str, values: Mapping[str, str]) -> dict[str, str]:
        return {
            name: stand_in(f"{server}_{name}", value) if is_secret(name, value) else value
            for name, value in values.items()
        }

    def argument(server: str, option: str, value: str) -> str:
        secret = option.startswith("-") and is_secret(option, value)
        return stand_in(f"{server}_{option.lstrip('-')}", value) if secret else value

    def arguments(server: str, given: Sequence[str]) -> tuple[str, ...]:
        made: list[str] = []
        for word, before in zip(given, ("", *given), strict=False):
            option, equals, value = word.partition("=")
            if not word.startswith("-"):
                named = equals and is_secret(option, value) and not before.startswith("--")
                made.append(
                    f"{option}={stand_in(f'{server}_{option}', value)}"
                    if named
                    else address(server, argument(server, before, word))
                )
            else:
                made.append(f"{option}={argument(server, option, value)}" if equals else word)
        return tuple(made)

    def address(server: str, url: str) -> str:
        url = _LOGIN.sub(lambda match: f"{match[1]}{stand_in(f'{server}_url_login', match[2])}@", url)
        return _QUERY.sub(
            lambda match: (
                f"{match[1]}{match[2]}={stand_in(f'{server}_url_{match[2]}', match[3])}"
                if is_secret(match[2], match[3])
                else match[0]
            ),
            url,
        )

    def without(name: str, server: MCPServer) -> MCPServer:
        return msgspec.structs.replace(
            server,
            args=arguments(name, server.args),
            env=hide(name, server.env),
            url=address(name, server.url),
            headers=hide(name, server.headers),
            auth=hidden(server.credentials, lambda part, value: stand_in(f"{name}_auth_{part}", value)),
        )

    return {name: without(name, server) for name, server in servers.items()}, secrets


def is_secret(name: str, value: str) -> bool:
    """Return whether the value of a header, a variable or an option is a credential."""
    return looks_secret(name.replace("-", "_"), value) or (
        AUTHORIZES.search(name) is not None and not is_setting(value)
    )
