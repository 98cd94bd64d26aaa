"""REST operations on the changes in a workspace since its last commit."""

from __future__ import annotations

from ...workspaces import GitChanges, GitDiff
from ..principals import Scope
from ..routing import Call, Endpoint
from ..schemas import PathQuery
from .workspaces import workspace_of


async def git_changes(call: Call[None, PathQuery]) -> GitChanges:
    """Return the files that differ from the last commit; 404 if the directory is not the root of a repository."""
    return await (await workspace_of(call, reading=True)).git_changes(call.query.path)


async def git_diff(call: Call[None, PathQuery]) -> GitDiff:
    """Return the unified diff of a file, or of all files below a directory, to the last commit, with new files."""
    return await (await workspace_of(call, reading=True)).git_diff(call.query.path)


_GROUP = "workspace"
_BASE = "/conversations/{id}/git"

ENDPOINTS = (
    Endpoint(
        "GET",
        f"{_BASE}/changes",
        git_changes,
        Scope.OBSERVE,
        "What changed since the last commit",
        query=PathQuery,
        reply=GitChanges,
        group=_GROUP,
    ),
    Endpoint(
        "GET",
        f"{_BASE}/diff",
        git_diff,
        Scope.OBSERVE,
        "How it changed",
        query=PathQuery,
        reply=GitDiff,
        group=_GROUP,
    ),
)
