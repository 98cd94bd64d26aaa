"""REST operations on the changes in a workspace between two events."""

from __future__ import annotations

from ...workspaces import FileChanges, FileDiff
from ..principals import Scope
from ..routing import Call, Endpoint
from ..schemas import BetweenPathQuery, BetweenQuery


async def file_changes(call: Call[None, BetweenQuery]) -> FileChanges:
    """Return the files that differ between two events, and who changed them; 404 if files were not kept."""
    return await (await call.reading()).workspace.file_changes(call.query.since, call.query.until)


async def file_diff(call: Call[None, BetweenPathQuery]) -> FileDiff:
    """Return the unified diff of a file, or of all files below a directory, between two events."""
    query = call.query
    return await (await call.reading()).workspace.file_diff(query.since, query.until, query.path)


_GROUP = "workspace"
_BASE = "/conversations/{id}/checkpoints"

ENDPOINTS = (
    Endpoint(
        "GET",
        f"{_BASE}/changes",
        file_changes,
        Scope.OBSERVE,
        "What changed between two events",
        query=BetweenQuery,
        reply=FileChanges,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        f"{_BASE}/diff",
        file_diff,
        Scope.OBSERVE,
        "How it changed between two events",
        query=BetweenPathQuery,
        reply=FileDiff,
        group=_GROUP,
    ),
)
