"""`end_of`: which end a conversation has, by where it works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..client import RemoteEnd
from ..errors import ConfigurationError
from ..protocols import ModelClient
from ..runtime import Runtime
from ..secrets import AnySecret
from ..specs import Agent, DockerWorkspace, RemoteWorkspace
from ..tools import ToolType
from .end import End
from .local import LocalEnd

_NOT_REMOTE = {
    "tools": "the server runs tools: give them to its Runtime(tools=[...]) and name them in Agent(tools=...)",
    "runtime": "the server has a runtime of its own: leave it out",
    "store": "the server keeps the log: leave it out",
    "client": "the server calls the models: name one in Agent(llm=...)",
    "owner": "the server knows the owner by the API key: leave it out",
}


def end_of(
    agent: Agent | None,
    workspace: Path | str | DockerWorkspace | RemoteWorkspace,
    name: str | None,
    tools: Sequence[ToolType],
    runtime: Runtime | None,
    store: Path | str | None,
    client: ModelClient | None,
    secrets: Mapping[str, AnySecret],
    owner: str | None,
) -> End:
    """The end of a conversation. Raises `ConfigurationError` for what does not go together."""
    if isinstance(workspace, RemoteWorkspace):
        given = {"tools": tools or None, "runtime": runtime, "store": store, "client": client, "owner": owner}
        for field, why in _NOT_REMOTE.items():
            if given[field] is not None:
                raise ConfigurationError(f"a remote conversation takes no {field}: {why}")
        return RemoteEnd(workspace, agent, name, secrets)
    if runtime is None:
        own = Runtime(store, client=client)
        return LocalEnd(own, agent, workspace, name, tools, secrets, owner, owns_runtime=True)
    if store is not None or client is not None:
        raise ConfigurationError("store and client belong to the runtime: give them to Runtime(...)")
    return LocalEnd(runtime, agent, workspace, name, tools, secrets, owner)
