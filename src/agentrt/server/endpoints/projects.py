"""The REST operation that finds a directory for a new conversation."""

from __future__ import annotations

import anyio.to_thread

from ..principals import Scope
from ..projects import find_projects, recent_projects
from ..routing import Call, Endpoint
from ..schemas import ProjectList, ProjectsQuery

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
)
