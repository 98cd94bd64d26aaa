"""REST operations on workspaces that a client holds open without a conversation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...conversation import Workspace
from ...conversation.workspace import WorkspaceHandle
from ..principals import Scope
from ..routing import Call, Endpoint
from ..schemas import HeldWorkspace, HeldWorkspaceList, OpenWorkspace

_ID = "workspace_id"
_CONVERSATION, _WORKSPACE = "/conversations/{id}", f"/workspaces/{{{_ID}}}"


async def workspace_of(call: Call[Any, Any], *, reading: bool = False) -> WorkspaceHandle:
    """Return the workspace that the path names: that of a conversation, or one that is held."""
    if _ID in call.request.path_params:
        return call.services.held.get(call.path(_ID), call.principal)
    conversation = await (call.reading() if reading else call.conversation())
    return conversation.workspace_for(call.principal.owner)


def with_held(endpoints: Iterable[Endpoint]) -> Iterable[Endpoint]:
    """Yield operations on the workspaces of conversations, and each again for those that are held."""
    for endpoint in endpoints:
        yield endpoint
        path = endpoint.path.replace(f"{_CONVERSATION}/workspace/", f"{_CONVERSATION}/")
        if path != f"{_CONVERSATION}/workspace":
            yield replace(
                endpoint, path=path.replace(_CONVERSATION, _WORKSPACE), id=f"{endpoint.name}_of_workspace", group=_GROUP
            )


async def open_workspace(call: Call[OpenWorkspace, None]) -> HeldWorkspace:
    """Open a directory below the server's workspaces; by default a new one. It is closed after 30 idle minutes."""
    name = await call.services.held.open(call.body.path, call.principal)
    return await _told(name, call.services.held.get(name, call.principal))


async def list_workspaces(call: Call[None, None]) -> HeldWorkspaceList:
    """Return the workspaces that are held open."""
    seen = call.services.held.seen(call.principal)
    return HeldWorkspaceList(tuple([await _told(name, workspace) for name, workspace in seen.items()]))


async def get_held_workspace(call: Call[None, None]) -> HeldWorkspace:
    """Return a workspace that is held open."""
    name = call.path(_ID)
    return await _told(name, call.services.held.get(name, call.principal))


async def close_workspace(call: Call[None, None]) -> None:
    """Close a workspace, and end all that runs in it; its files stay."""
    await call.services.held.close(call.path(_ID), call.principal)


async def _told(name: str, workspace: Workspace) -> HeldWorkspace:
    return HeldWorkspace(id=name, path=workspace.working_dir, supports_pause=await workspace.supports_pause())


_GROUP = "held workspaces"

ENDPOINTS = (
    Endpoint(
        "POST",
        "/workspaces",
        open_workspace,
        Scope.EXECUTE,
        "Hold a workspace open",
        body=OpenWorkspace,
        reply=HeldWorkspace,
        status=201,
        group=_GROUP,
    ),
    Endpoint("GET", "/workspaces", list_workspaces, Scope.OBSERVE, "List them", reply=HeldWorkspaceList, group=_GROUP),
    Endpoint("GET", _WORKSPACE, get_held_workspace, Scope.OBSERVE, "Get one", reply=HeldWorkspace, group=_GROUP),
    Endpoint("DELETE", _WORKSPACE, close_workspace, Scope.EXECUTE, "Close one", status=204, group=_GROUP),
)
