"""`git_diff`: shows what has changed in the workspace, for agents that have no shell."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ...errors import ToolError, WorkspaceError
from ...protocols import Observation, ToolContext
from ...specs import OnCrash
from ...specs.content import sound
from ...workspaces import git
from ..declared import READS, nothing_shared, reads_path
from ..definition import Params, ToolType
from ..shortened import shortened

MAX_SHOWN = 30_000
"""Maximum number of characters shown by one call."""


class GitDiffAction(msgspec.Struct, frozen=True):
    """Arguments of `git_diff`."""

    path: Annotated[str, Meta(description="A file or directory, from the workspace on; empty: everything.")] = ""
    base: Annotated[str, Meta(description="The commit, branch or tag to compare with; empty: the last commit.")] = ""


class GitDiffObservation(Observation, frozen=True, kw_only=True):
    """The branch, and whether the diff was cut."""

    branch: str | None
    truncated: bool


class GitDiffTool:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: GitDiffAction, context: ToolContext) -> GitDiffObservation:
        """Return the changed files and the diff. Raises `ToolError` without a repository, or for an unknown commit."""
        place = context.workspace.directory
        try:
            changes = await git.changes(place)
            found = await git.diff(place, action.path, action.base)
        except WorkspaceError as error:
            raise ToolError(str(error)) from error
        head = f"On {changes.branch or 'no branch'} at {(changes.head or 'no commit')[:12]}."
        lines = [head, *(f"{item.status}: {item.path}" for item in changes.items)]
        body = context.masked(sound("\n".join((*lines, "", found.diff or "[no difference]"))), by_line=True)
        truncated = found.truncated or changes.truncated
        content = await shortened(body, MAX_SHOWN, "diff", context)
        return GitDiffObservation(content=tuple(content), branch=changes.branch, truncated=truncated)

    async def aclose(self) -> None: ...


git_diff = ToolType(
    name="git_diff",
    description="Show what has changed in the workspace's git repository: the changed files and the diff.",
    action=GitDiffAction,
    executor=GitDiffTool,
    annotations=READS,
    on_crash=OnCrash.RETRY,
    resources=nothing_shared,
    effects=reads_path,
    headline=("{path} since {base}", "since {base}", "{path}", ""),
    aliases=("show_changes",),
)
