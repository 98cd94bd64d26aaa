"""Runs a `Query`: with ripgrep if it is installed, the workspace is local and the pattern suits it; otherwise with our
own program.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

import anyio.to_thread
from anyio.from_thread import check_cancelled
from msgspec.structs import replace

from ...errors import ToolError
from ...placing import Place
from ...protocols import Files, ToolContext
from ...sandboxes.installed import is_installed
from ...sandboxes.programs import Printed, Stuck, printed
from ...sandboxes.stalling import stalled
from .query import Query, counts, files, program_input, ripgrep

SECONDS = 60.0
"""Time limit of a search."""

MATCH_SECONDS = 5.0
"""Time limit for matching paths against a pattern."""

MOST_LISTED = 64 << 20
"""Maximum number of bytes read of a list of files."""

AT_ONCE = 100
"""Number of paths handled between two checks whether the search was cancelled."""

FEW = 2
"""Maximum number of repetitions in a pattern that matches any path quickly."""

_REPEATED_GROUP = re.compile(r"\)[*+{]")
_ANY = "."
"""The expression of `**`."""

Row: TypeAlias = tuple[str, int]
"""A path, and the number of its lines that match."""

_OURS_ONLY = re.compile(r"\(\?<?[=!]|\\[1-9]|\(\?P=|\(\?>|\(\?R\)|[*+?}]\+")
"""Syntax that only our own program knows: lookaround, backreferences, atomic groups, recursion, possessive repeats."""


async def run(query: Query, context: ToolContext, most: int = MOST_LISTED) -> str:
    """Return the output of a search, at most `most` bytes. Raises `ToolError` with what to do instead."""
    local = context.workspace.on_this_machine and is_installed("rg")
    if local and not (query.pattern is not None and _OURS_ONLY.search(query.pattern)):
        with suppress(Stuck):  # ripgrep waits for a pipe that is named like an ignore file; our program does not
            said = await _answer(context.place, ripgrep(query), query.directory, b"", most, watched=stalled)
            if said.cut or said.code in (0, 1) or (said.code == 2 and said.output):
                return said.output.decode("utf-8", "surrogateescape")
    python = await context.place.python()
    command = [python.path, "-I", f"{python.package}/tools/search/program.py"]
    said = await _answer(context.place, command, "/", program_input(query), most)
    if said.code and not said.cut:
        if said.code < 0:
            raise ToolError(f"the search was ended by signal {-said.code}: search a directory below, or fewer files")
        raise ToolError(said.errors.decode("utf-8", "replace").strip().split("\n")[-1])
    return said.output.decode("utf-8", "surrogateescape")


async def _answer(
    place: Place,
    command: list[str],
    directory: str,
    given: bytes,
    most: int,
    watched: Callable[[int], Awaitable[None]] | None = None,
) -> Printed:
    try:
        return await printed(
            place,
            command,
            cwd=directory,
            seconds=SECONDS,
            most=most,
            given=given,
            watched=watched,
        )
    except Stuck:
        raise
    except TimeoutError as error:
        raise ToolError(f"it took longer than {SECONDS:.0f} s: search a directory below, or fewer files") from error
    except OSError as error:
        raise ToolError(f"{directory}: {error.strerror or error}") from error


async def found(query: Query, context: ToolContext) -> list[Row]:
    """Return the paths that a query finds, relative to its directory, each with the number of lines that match; the
    file that was changed last comes first.
    """
    return await anyio.to_thread.run_sync(_sorted, query, await run(query, context), context)


def _sorted(query: Query, output: str, context: ToolContext) -> list[Row]:
    rows = [(path, 0) for path in files(output)] if query.pattern is None else counts(output)
    if query.include:
        rows = fitting(rows, query.include, check_cancelled)
    changed = context.files.modified(query.directory, [path for path, _ in rows])
    return [row for _, row in sorted(zip(changed, rows, strict=True), key=lambda one: (-one[0], one[1][0]))]


def fitting(
    rows: list[Row],
    include: Sequence[str],
    step: Callable[[], object] = lambda: None,
    seconds: float = MATCH_SECONDS,
) -> list[Row]:
    """Return the rows whose path matches one of the patterns. Raises `ToolError` if that takes longer than `seconds`.

    `step` is called regularly; an exception from it ends the work.
    """
    if _ANY in include:
        return rows
    ends = time.monotonic() + seconds
    fits = [_matcher(pattern, ends) for pattern in include]
    found = list[Row]()
    try:
        for begin in range(0, len(rows), AT_ONCE):
            step()
            if time.monotonic() > ends:
                raise TimeoutError
            found += [row for row in rows[begin : begin + AT_ONCE] if any(fit(row[0]) for fit in fits)]
    except TimeoutError as error:
        raise ToolError("the pattern has too many *: give a simpler one") from error
    return found


def _matcher(pattern: str, ends: float) -> Callable[[str], object]:
    """Return a function that tells whether a path matches; after the time `ends` it may raise `TimeoutError`.

    `re` is ten times as fast as `regex`, and it is never slow for a pattern with few repetitions.
    """
    if pattern.count("*") + pattern.count("+") <= FEW and not _REPEATED_GROUP.search(pattern):
        return re.compile(pattern, re.DOTALL).match
    import regex  # with the first such search; it has a timeout, and lets other threads work meanwhile

    one = regex.compile(pattern, regex.DOTALL)
    return lambda path: one.match(path, timeout=max(ends - time.monotonic(), 0.001), concurrent=True)


def query_of(context: ToolContext, path: str) -> Query:
    """Return a query of all files at or below a path that is absolute or relative to the workspace. For a thread.

    Raises `ToolError`.
    """
    if "\0" in path:
        raise ToolError("a path cannot have a NUL character")
    wanted = os.path.join(context.workspace.path, path or ".")
    if context.files.status(wanted) is None:
        raise ToolError(f"{wanted} does not exist")
    real = context.files.real(wanted)
    workspace = context.files.real(context.workspace.path)
    base = Query(root="/", path=os.path.relpath(real, "/").removeprefix("."), workspace=workspace)
    if _is_kind(context.files, real, stat.S_ISDIR):
        return base
    if not _is_kind(context.files, real, stat.S_ISREG):
        raise ToolError(f"{wanted} is neither a file nor a directory: use the terminal on it")
    above, _, name = base.path.rpartition("/")
    return replace(base, path=above, files=(name,))


def _is_kind(reached: Files, path: str, kind: Callable[[int], bool]) -> bool:
    status = reached.status(path)
    return status is not None and kind(status.st_mode)


def shown_path(query: Query, path: str) -> str:
    """Return a path as the model sees it: relative to the workspace, or absolute if it is not in it."""
    absolute = f"{query.directory.rstrip('/')}/{path}"
    return absolute.removeprefix(f"{query.workspace.rstrip('/')}/").replace("\n", "\\n")
