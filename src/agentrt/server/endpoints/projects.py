"""REST operations on the directories in which conversations work: where a new one may, and where one does."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread

from ..principals import Scope
from ..projects import find_projects, place_of, recent_projects
from ..routing import Call, Endpoint
from ..schemas import Project, ProjectList, ProjectsQuery

LATEST = 100
"""Number of the latest conversations whose workspaces are recent."""


async def list_projects(call: Call[None, ProjectsQuery]) -> ProjectList:
    """Return the directories in which a new conversation may work: recent ones, and those that begin as typed."""
    roots, wanted = call.services.settings.workspaces, call.query
    rows = await call.services.hosting.page(call.principal, LATEST)
    used = [row.workspace for row in rows]

    def found() -> ProjectList:
        return ProjectList(
            roots=tuple(str(root.resolve()) for root in roots),
            recent=recent_projects(roots, used, wanted.limit),
            matching=find_projects(roots, wanted.path, wanted.limit),
        )

    return await anyio.to_thread.run_sync(found)


async def conversation_project(call: Call[None, None]) -> Project:
    """Return the directory in which a conversation works, with its repository and its branch."""
    created = (await call.reading()).state.created
    assert created is not None
    return await anyio.to_thread.run_sync(place_of, Path(created.workspace.path))


ENDPOINTS = (
    Endpoint(
        "GET",
        "/projects",
        list_projects,
        Scope.STEER,
        "The directories for a new conversation",
        query=ProjectsQuery,
        reply=ProjectList,
        group="server",
    ),
    Endpoint(
        "GET",
        "/conversations/{id}/project",
        conversation_project,
        Scope.OBSERVE,
        "The repository and branch of a conversation",
        reply=Project,
        group="workspace",
    ),
)
