"""`Query`: a search, as a command for ripgrep or input for our own program; and the parsers of their output. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

from .dialect import by_line, for_regex

_LINE = re.compile(r"(\d+)(?:-|:(\d+):)")
_COUNT = re.compile(r"([^\0]++)(?:\0(\d+)\r?\n|\Z)")
LONGEST = 4096
"""Maximum number of bytes that ripgrep prints of a line."""

_COMMON = (
    "--no-config", "--hidden", "--glob=!.git", "--no-ignore-global", "--no-ignore-exclude", "--no-require-git",
    "--no-messages", "--no-ignore-messages", "--color=never", "--null", "--with-filename",
)  # fmt: skip


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A search for the lines that `pattern` matches, or, if it is None, for all files.

    It covers the files below `path`, which is relative to `root` and has no links, or only the `files` there.
    """

    root: str
    path: str
    pattern: str | None = None
    ignore_case: bool = False
    every: bool = False
    include: tuple[str, ...] = ()
    """Patterns (`including.expressions`), one of which must match the path of a file; empty: all files count."""
    names: tuple[str, ...] = ()
    """Patterns, one of which matches the name of each file that `include` lets through; empty: nothing is known."""
    depth: int | None = None
    """Number of directory levels to search, including the first; None: all."""
    files: tuple[str, ...] = ()
    lines: bool = False
    """Whether the lines are wanted, instead of their number in each file."""
    context: int = 0
    workspace: str = "/"
    """The workspace, without links; paths below it are shown relative to it."""

    @property
    def directory(self) -> str:
        """The absolute path of the directory to search."""
        return f"{self.root.rstrip('/')}/{self.path}".rstrip("/") or "/"


class Line(msgspec.Struct, frozen=True):
    """A line of a file. With the number None it separates lines that are not consecutive."""

    path: str
    number: int | None
    text: str = ""
    column: int | None = None
    """Where the first match begins, in bytes from 1; None for a context line."""


def ripgrep(query: Query) -> list[str]:
    """Return the command for ripgrep, to run in the directory of the query."""
    command = ["rg", *_COMMON, *(["--no-ignore"] if query.every else [])]
    command += [] if query.depth is None else [f"--max-depth={query.depth}"]
    if query.pattern is None:
        return [*command, *_typed(query), "--files"]
    command += ["--ignore-case"] if query.ignore_case else []
    if query.lines:
        command += ["--threads=1", "--no-heading", "--line-number", "--column", f"--context={query.context}"]
        command += [f"--max-columns={LONGEST}", "--max-columns-preview"]
    else:
        command += [*_typed(query), "--count"]
    named = [f"./{name}" for name in query.files]
    return [*command, "--no-mmap", "--crlf", f"--regexp={by_line(query.pattern)}", "--", *(named or ["./"])]


def _typed(query: Query) -> list[str]:
    """Return the names as file types, because a glob would also let through files that ignore files exclude."""
    types = [f"--type-add=wanted:{name}" for name in query.names]
    return [*types, "--type=wanted"] if types else []


def program_input(query: Query) -> bytes:
    """Return the input for our own program: its `Request`."""
    fields = msgspec.structs.asdict(query)
    del fields["names"], fields["workspace"]
    if query.pattern is not None:
        fields["pattern"] = for_regex(by_line(query.pattern))
    return json.dumps(fields).encode()  # msgspec refuses surrogates, which stand for bytes of names that are not UTF-8


def files(output: str) -> list[str]:
    """Return the paths that were printed."""
    return [path.removeprefix("./") for path in output.split("\0") if path]


def counts(output: str) -> list[tuple[str, int]]:
    """Return the paths that were printed, each with the number of its lines that match."""
    return [(path.removeprefix("./"), int(count)) for path, count in _COUNT.findall(output) if count]


def lines(output: str) -> Iterator[Line]:
    """Yield the lines that were printed."""
    path = begun = ""
    for printed in output.split("\n")[:-1]:
        head, nul, rest = printed.partition("\0")
        if not nul and printed.rstrip("\r") != "--":
            begun += f"{printed}\n"  # part of a name that has a newline
            continue
        at = _LINE.match(rest)
        if nul and at is not None:
            path, begun = f"{begun}{head}".removeprefix("./"), ""
            yield Line(path, int(at[1]), rest[at.end() :].rstrip("\r"), int(at[2]) if at[2] else None)
        else:
            yield Line(path, None)
