"""REST operations on the settings of the server: its agent, and the keys and other secrets that it keeps."""

from __future__ import annotations

from ...llm.providers import PROVIDERS
from ..hosting import Hosting
from ..principals import Scope
from ..problems import refusal
from ..routing import Answered, Call, Endpoint
from ..saved import SavedSettings
from ..schemas import ChangeServerAgent, NewServerSecret, ServerAgent, ServerSecret, ServerSecretList, Source


async def server_agent(call: Call[None, None]) -> Answered:
    """Return the agent of conversations that are begun without their own. Secrets of its options are hidden."""
    saved = call.services.hosting.saved
    await saved.refresh()
    return _agent(saved)


async def change_server_agent(call: Call[ChangeServerAgent, None]) -> Answered:
    """Change fields of the server's agent for conversations that begin from now on, also after a restart.

    A change holds as long as the server is started with the options that it replaced. Secrets in the configuration of
    MCP servers are kept as secrets, and their places name them.
    """
    saved = call.services.hosting.saved
    await saved.configure(call.body.changes, call.body.reset)
    return _agent(saved)


async def server_secrets(call: Call[None, None]) -> ServerSecretList:
    """Return the names of the saved secrets, and the variables with the keys of providers. No value can be read."""
    await call.services.hosting.saved.refresh()
    return _secrets(call.services.hosting)


async def save_server_secret(call: Call[NewServerSecret, None]) -> ServerSecretList:
    """Save the key of a provider, under the name of its variable, or a secret that an MCP server names as `${NAME}`.

    It is used from the next call on, and kept encrypted.
    """
    await call.services.hosting.saved.save_secret(call.path("name"), call.body.value)
    return _secrets(call.services.hosting)


async def remove_server_secret(call: Call[None, None]) -> None:
    """Remove a saved secret. A variable of the server's environment with its name is used again."""
    name = call.path("name")
    if not await call.services.hosting.saved.remove_secret(name):
        raise refusal(404, "No such secret", f"no secret {name!r} is saved here", "secret-missing")


def _agent(saved: SavedSettings) -> Answered:
    return Answered({"agent": saved.shown, "changed": saved.changed}, 200)


def _secrets(hosting: Hosting) -> ServerSecretList:
    saved, variables = hosting.saved, hosting.runtime.variables

    def secret(name: str, provider: str = "") -> ServerSecret:
        source: Source = "none"
        if name in saved.secrets:
            source = "saved"
        elif variables.get(name, "").strip():
            source = "environment"
        return ServerSecret(name=name, provider=provider, source=source, readable=name not in saved.unreadable)

    keys = {names[0]: name for name, one in reversed(PROVIDERS.items()) if one.needs_key and (names := one.keys)}
    for name, one in PROVIDERS.items():  # a key may be under an older name of the variable
        keys |= {other: name for other in one.keys[1:] if one.needs_key and other in variables}
    others = [name for name in saved.secrets if name not in keys]
    return ServerSecretList((*(secret(name, keys[name]) for name in sorted(keys)), *map(secret, others)))


_GROUP = "settings"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/settings/agent",
        server_agent,
        Scope.ADMIN,
        "The server's agent",
        reply=ServerAgent,
        group=_GROUP,
    ),
    Endpoint(
        "PATCH",
        "/settings/agent",
        change_server_agent,
        Scope.ADMIN,
        "Change the server's agent",
        body=ChangeServerAgent,
        reply=ServerAgent,
        group=_GROUP,
        example={"changes": {"llm": "openai/gpt-5.2", "system_prompt": "You review code."}},
    ),
    Endpoint(
        "GET",
        "/settings/secrets",
        server_secrets,
        Scope.ADMIN,
        "The keys and secrets of the server",
        reply=ServerSecretList,
        group=_GROUP,
    ),
    Endpoint(
        "PUT",
        "/settings/secrets/{name}",
        save_server_secret,
        Scope.ADMIN,
        "Save a key or a secret",
        body=NewServerSecret,
        reply=ServerSecretList,
        group=_GROUP,
    ),
    Endpoint(
        "DELETE",
        "/settings/secrets/{name}",
        remove_server_secret,
        Scope.ADMIN,
        "Remove a key or a secret",
        status=204,
        group=_GROUP,
    ),
)
