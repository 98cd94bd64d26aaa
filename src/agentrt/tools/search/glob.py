"""`glob`: finds the files whose path matches a pattern."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ...errors import ToolError
from ...protocols import Observation, ToolContext
from ...specs import OnCrash
from ...specs.content import sound, text
from ..declared import READS, nothing_shared, reads_path
from ..definition import Params, ToolType
from .including import expressions, last_names, levels, rooted
from .query import Query
from .running import found, query_of, shown_path


class GlobAction(msgspec.Struct, frozen=True):
    """Arguments of `glob`."""

    pattern: Annotated[str, Meta(description="Such as '*.py' (in any directory), 'src/**/*.{js,ts}', 'docs/*.md'.")]
    path: Annotated[str, Meta(description="The directory to look in; default: the workspace.")] = ""
    include_ignored: Annotated[bool, Meta(description="Also list files that .gitignore and .ignore leave out.")] = False
    limit: Annotated[int, Meta(ge=1, le=1000, description="Files to show.")] = 100


class GlobObservation(Observation, frozen=True, kw_only=True):
    """The number of files that match, and whether only some of them are shown."""

    files: int
    truncated: bool


class Glob:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: GlobAction, context: ToolContext) -> GlobObservation:
        """Return the files. Raises `ToolError` for an invalid pattern, and for a path that does not exist."""
        query = await anyio.to_thread.run_sync(_query, action, context)
        rows = await found(query, context)
        truncated = len(rows) > action.limit
        paths = [shown_path(query, path) for path, _ in rows[: action.limit]]
        body = context.masked(sound("\n".join([_head(action, len(rows), truncated), *paths])), by_line=True)
        return GlobObservation(content=text(body), files=len(rows), truncated=truncated)

    async def aclose(self) -> None: ...


def _query(action: GlobAction, context: ToolContext) -> Query:
    if not action.pattern:
        raise ToolError("pattern is empty: '**' lists all files")
    path, pattern = action.path, action.pattern
    if pattern.startswith("/"):
        path, pattern = rooted(pattern)
    query = query_of(context, path)
    if query.files:
        raise ToolError(f"{query.directory}/{query.files[0]} is a file: give the directory to look in")
    names, include = last_names(pattern), expressions(pattern)
    return replace(query, every=action.include_ignored, include=include, names=names, depth=levels(pattern))


def _head(action: GlobAction, files: int, truncated: bool) -> str:
    if not files:
        left_out = "" if action.include_ignored else " Files that .gitignore leaves out were not listed."
        return f"No file fits.{left_out}"
    in_all = "1 file" if files == 1 else f"{files:,} files"
    if truncated:
        return f"{in_all}. The {action.limit} that were changed last; narrow it with path or pattern:"
    return f"{in_all}, the newest first:" if files > 1 else f"{in_all}:"


glob = ToolType(
    name="glob",
    description=(
        "Find files by a pattern of their path, fast. Files that .gitignore leaves out and .git are skipped. The file"
        " that was changed last comes first."
    ),
    action=GlobAction,
    executor=Glob,
    annotations=READS,
    on_crash=OnCrash.RETRY,
    resources=nothing_shared,
    effects=reads_path,
    headline=("{pattern} in {path}", "{pattern}"),
    aliases=("find_files", "glob_search", "file_search", "find_file"),
)
