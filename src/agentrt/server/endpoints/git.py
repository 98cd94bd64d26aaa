"""What changed in a workspace since its last commit."""

from __future__ import annotations

from ..principals import Scope
from ..routing import Call, Endpoint
from ..schemas import GitChanges, GitDiff, PathQuery
from ..workspaces.beneath import parts_of
from ..workspaces.git import changes, diff
from .files import workspace


async def git_changes(call: Call[None, None]) -> GitChanges:
    """The files that are not as they were committed last; 404 where the workspace is no repository of its own."""
    return await changes(await workspace(call))


async def git_diff(call: Call[None, PathQuery]) -> GitDiff:
    """The unified diff of a file, or of all below a directory, since the last commit; new files are in it."""
    return await diff(await workspace(call), "/".join(parts_of(call.query.path)))


_GROUP = "workspace"
_BASE = "/conversations/{id}/git"

ENDPOINTS = (
    Endpoint(
        "GET",
        f"{_BASE}/changes",
        git_changes,
        Scope.OBSERVE,
        "What changed since the last commit",
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
