"""`grep`: finds the lines of files that match a pattern."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from typing import Annotated, Literal

import anyio.to_thread
import msgspec
from anyio.from_thread import check_cancelled
from msgspec import Meta
from msgspec.structs import replace

from ...errors import ToolError
from ...protocols import Observation, ToolContext
from ...specs import OnCrash
from ...specs.content import sound, text
from ..declared import READS, nothing_shared, reads_path
from ..definition import Params, ToolType
from .including import expressions, last_names, levels
from .long_lines import Shown
from .query import Query, lines
from .running import found, query_of, run, shown_path

MOST_READ = 16 << 20
"""Maximum number of bytes read of the lines found."""

MOST_LOOKED_AT = 64 << 20
"""Maximum size of a file, in bytes, that is read whole to check whether it is text."""

LONGEST_PATTERN = 10_000
"""Maximum number of characters of a pattern."""

_NEWLINE = re.compile(r"\n|(?<!\\)(?:\\\\)*\\n")


class GrepAction(msgspec.Struct, frozen=True):
    """Arguments of `grep`."""

    pattern: Annotated[str, Meta(description="A regular expression, held against each line.")]
    path: Annotated[str, Meta(description="A directory or file; default: the workspace.")] = ""
    include: Annotated[
        str, Meta(description="Only files whose path fits: '*.py', 'src/**/*.{ts,tsx}'. Default: all.")
    ] = ""
    output_mode: Annotated[
        Literal["files_with_matches", "content", "count"],
        Meta(description="The files, their matching lines with line numbers, or how many lines match in each."),
    ] = "files_with_matches"
    context: Annotated[int, Meta(ge=0, le=50, description="With content: lines to show around each match.")] = 0
    ignore_case: Annotated[bool, Meta(description="Take capital and small letters as the same.")] = False
    include_ignored: Annotated[bool, Meta(description="Also search files that .gitignore and .ignore leave out.")] = (
        False
    )
    limit: Annotated[int, Meta(ge=1, le=1000, description="Files, or with content matching lines, to show.")] = 100


class GrepObservation(Observation, frozen=True, kw_only=True):
    """The number of files with a match, the number of lines that match, and whether only some of them are shown."""

    files: int
    matches: int
    truncated: bool


class Grep:
    """The executor."""

    def __init__(self, params: Params) -> None: ...

    async def __call__(self, action: GrepAction, context: ToolContext) -> GrepObservation:
        """Return the matches. Raises `ToolError` for an invalid pattern, and for a path that does not exist."""
        query = await anyio.to_thread.run_sync(_query, action, context)
        rows = await found(query, context)
        matches = sum(count for _, count in rows)
        shown = rows[: action.limit]
        truncated = len(rows) > action.limit
        if action.output_mode == "content":
            said, truncated = await _content(action, query, rows, context)
        elif action.output_mode == "count":
            said = [f"{shown_path(query, path)}:{count}" for path, count in shown]
        else:
            said = [shown_path(query, path) for path, _ in shown]
        head = _head(action, len(rows), matches, truncated)
        body = await anyio.to_thread.run_sync(lambda: context.masked(sound("\n".join([head, *said])), by_line=True))
        return GrepObservation(content=text(body), files=len(rows), matches=matches, truncated=truncated)

    async def aclose(self) -> None: ...


def _query(action: GrepAction, context: ToolContext) -> Query:
    if not action.pattern:
        raise ToolError("pattern is empty: give what to look for; to list files use glob")
    if "\0" in action.pattern:
        raise ToolError("pattern has a NUL character, which no text file has")
    if len(action.pattern) > LONGEST_PATTERN:
        raise ToolError(f"pattern has {len(action.pattern):,} characters: give one of at most {LONGEST_PATTERN:,}")
    if _NEWLINE.search(action.pattern):
        raise ToolError("pattern has a newline, and is held against one line at a time: look for one of its lines")
    query = query_of(context, action.path)
    if query.files:
        _must_be_text(f"{query.directory.rstrip('/')}/{query.files[0]}", context)
    include = expressions(action.include) if action.include and not query.files else ()
    return replace(
        query,
        pattern=action.pattern,
        ignore_case=action.ignore_case,
        every=action.include_ignored,
        include=include,
        names=last_names(action.include) if include else (),
        depth=levels(action.include) if include else None,
    )


def _must_be_text(path: str, context: ToolContext) -> None:
    """Raise `ToolError` for a binary file: in a directory it is skipped, but if named, ripgrep shows part of it."""
    status = context.files.status(path)
    if status is not None and status.st_size <= MOST_LOOKED_AT:
        data = context.files.read(path)
        if b"\0" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ToolError(f"{path} is a binary file: use the terminal on it")


async def _content(
    action: GrepAction, query: Query, rows: Sequence[tuple[str, int]], context: ToolContext
) -> tuple[list[str], bool]:
    """Return the lines of the files that were changed last, and whether there are more."""
    wanted, matches = list[str](), 0
    for path, count in rows:
        if matches >= action.limit:
            break
        wanted.append(path)
        matches += count
    if not wanted:
        return [], False
    detailed = replace(query, files=tuple(wanted), lines=True, context=action.context, include=(), names=())
    output = await run(detailed, context, MOST_READ)
    said = await anyio.to_thread.run_sync(_told, output, wanted, action.limit, query, context)
    if not said:
        said = ["[the lines are in a file that is not text: use the terminal on it]"]
    return said, len(wanted) < len(rows) or matches > action.limit


def _told(output: str, wanted: Sequence[str], limit: int, query: Query, context: ToolContext) -> list[str]:
    place = {path: at for at, path in enumerate(wanted)}
    found = sorted(lines(output), key=lambda line: place.get(line.path, len(place)))
    shown, said, path, matches = Shown(query.directory, context), list[str](), None, 0
    for line in found:
        check_cancelled()
        if line.number is None:
            continue
        matches += line.column is not None
        if matches > limit:
            break
        if line.path != path:
            path = line.path
            said.append(f"\n{shown_path(query, path)}")
        said.append(f"{line.number}{'-' if line.column is None else ':'}{shown.of(line)}")
    return said


def _head(action: GrepAction, files: int, matches: int, truncated: bool) -> str:
    if not files:
        left_out = "" if action.include_ignored else " Files that .gitignore leaves out were not searched."
        return f"No line matches.{left_out}"
    lines_match = "1 line matches" if matches == 1 else f"{matches:,} lines match"
    in_files = "1 file" if files == 1 else f"{files:,} files"
    head = f"{lines_match} in {in_files}"
    if not truncated:
        return f"{head}, the newest file first:" if files > 1 else f"{head}:"
    what = "matches" if action.output_mode == "content" else "files"
    return f"{head}. The first {action.limit} {what} of the newest files; narrow it with path or include:"


grep = ToolType(
    name="grep",
    description=(
        "Search the contents of files with a regular expression, fast. Files that .gitignore leaves out, binary files"
        " and .git are skipped. The file that was changed last comes first. Use this instead of grep or rg in the"
        " terminal."
    ),
    action=GrepAction,
    executor=Grep,
    annotations=READS,
    on_crash=OnCrash.RETRY,
    resources=nothing_shared,
    effects=reads_path,
    headline=("{pattern} in {path}", "{pattern}"),
    aliases=("search", "ripgrep", "grep_search", "search_file_content", "search_files", "search_code", "code_search"),
)
