"""`end_of`: choose the local or the remote end of a conversation by its workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..context.titles import Naming
from ..decisions.agents import with_tools
from ..errors import ConfigurationError
from ..protocols import ModelClient, Storage
from ..runtime import Runtime
from ..secrets import AnySecret
from ..secrets.sources import source_of
from ..specs import Agent, RemoteWorkspace, WorkspaceSpec
from ..specs.given import converted, instance
from ..tools import AnyTool, as_tool_types, distinct, tools_in
from .end import End
from .local import LocalEnd
from .workspace import Workspace

_NOT_REMOTE = {
    "tools": "the server runs tools: give them to its Runtime(tools=[...]) and name them in Agent(tools=...)",
    "runtime": "the server has a runtime of its own: leave it out",
    "store": "the server keeps the log: leave it out",
    "client": "the server calls the models: name one in Agent(llm=...)",
    "owner": "the server knows the owner by the API key: leave it out",
}


def end_of(
    agent: Agent | None,
    workspace: Path | str | Workspace | WorkspaceSpec | RemoteWorkspace,
    name: str | None,
    tools: Sequence[AnyTool],
    runtime: Runtime | None,
    store: Path | str | Storage | None,
    client: ModelClient | None,
    secrets: Mapping[str, AnySecret],
    owner: str | None,
    naming: Naming,
) -> End:
    """Return the end of a conversation. Raises `ConfigurationError` for invalid or conflicting arguments."""
    if agent is not None:
        instance(agent, Agent, "Conversation", "agent")
    owner = converted(owner, str | None, "Conversation", "owner")
    name = converted(name, str | None, "Conversation", "id")
    if not isinstance(secrets, Mapping):
        raise ConfigurationError("Conversation(secrets=...): expected a dict from names to values")
    for variable, secret in secrets.items():
        source_of(variable, secret)
    held = workspace.shared if isinstance(workspace, Workspace) else None
    where = workspace.spec if isinstance(workspace, Workspace) else workspace
    if not isinstance(where, WorkspaceSpec | RemoteWorkspace):
        where = converted(where, Path, "Conversation", "workspace")
    code = as_tool_types(tools)
    if agent is not None:
        agent = with_tools(agent, (kind.name for kind in code))
        code = distinct((*code, *tools_in(agent)))
    if isinstance(where, RemoteWorkspace):
        functions = [kind for kind in code if not kind.ends_turn] or None
        given = {"tools": functions, "runtime": runtime, "store": store, "client": client, "owner": owner}
        for field, why in _NOT_REMOTE.items():
            if given[field] is not None:
                raise ConfigurationError(f"a remote conversation takes no {field}: {why}")
        from ..client import RemoteEnd  # needed by few

        return RemoteEnd(where, agent, name, secrets, naming)
    if runtime is None:
        own = Runtime(store, client=client)
        return LocalEnd(own, agent, where, name, code, secrets, owner, naming, owns_runtime=True, held=held)
    if store is not None or client is not None:
        raise ConfigurationError("store and client belong to the runtime: give them to Runtime(...)")
    instance(runtime, Runtime, "Conversation", "runtime")
    return LocalEnd(runtime, agent, where, name, code, secrets, owner, naming, held=held)
