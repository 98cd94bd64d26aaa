"""What is searched, how ripgrep and our own program are asked for it, and how their answers are read. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

from .dialect import by_line, for_regex

_LINE = re.compile(r"(\d+)(?:-|:(\d+):)")
_COUNT = re.compile(r"([^\0]+)\0(\d+)\r?\n")
LONGEST = 4096
"""Of a line, what is read."""

_COMMON = (
    "--no-config", "--hidden", "--glob=!.git", "--no-ignore-global", "--no-ignore-exclude", "--no-require-git",
    "--no-messages", "--no-ignore-messages", "--color=never", "--null", "--with-filename",
)  # fmt: skip


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for: lines that `pattern` matches, or with None all files.

    They are below `root` and there below `path`, which has no links, or the `files` there.
    """

    root: str
    path: str
    pattern: str | None = None
    ignore_case: bool = False
    every: bool = False
    include: tuple[str, ...] = ()
    """Of which one must match the path of a file (`including.expressions`)."""
    names: tuple[str, ...] = ()
    """Of which one matches the name of each such file; none where nothing is known of it."""
    depth: int | None = None
    """Directories from its own on that are looked into, itself the first; None: all."""
    files: tuple[str, ...] = ()
    lines: bool = False
    """Whether the lines are wanted, or how many there are of each file."""
    context: int = 0

    @property
    def directory(self) -> str:
        """Where it is looked."""
        return f"{self.root.rstrip('/')}/{self.path}".rstrip("/") or "/"


class Line(msgspec.Struct, frozen=True):
    """A line of a file; None as its number stands between lines that do not follow on one another."""

    path: str
    number: int | None
    text: str = ""
    column: int | None = None
    """Where the first match begins, in bytes from 1; None of a line that stands around one."""


def ripgrep(query: Query) -> list[str]:
    """The command that asks ripgrep, in the directory of the query."""
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
    """As types of files, since a glob would also let through what ignore files name."""
    types = [f"--type-add=wanted:{name}" for name in query.names]
    return [*types, "--type=wanted"] if types else []


def program_input(query: Query) -> bytes:
    """The same for our own program: its `Request`."""
    fields = msgspec.structs.asdict(query)
    del fields["names"]
    if query.pattern is not None:
        fields["pattern"] = for_regex(by_line(query.pattern))
    return json.dumps(fields).encode()  # a byte of a name that is no UTF-8 is a character that msgspec refuses


def files(output: str) -> list[str]:
    """The paths that were printed."""
    return [path.removeprefix("./") for path in output.split("\0") if path]


def counts(output: str) -> list[tuple[str, int]]:
    """The paths that were printed, each with how many lines of it match."""
    return [(path.removeprefix("./"), int(count)) for path, count in _COUNT.findall(output)]


def lines(output: str) -> Iterator[Line]:
    """The lines that were printed."""
    path = begun = ""
    for printed in output.split("\n")[:-1]:
        head, nul, rest = printed.partition("\0")
        if not nul and printed.rstrip("\r") != "--":
            begun += f"{printed}\n"  # of a name that has a newline
            continue
        at = _LINE.match(rest)
        if nul and at is not None:
            path, begun = f"{begun}{head}".removeprefix("./"), ""
            yield Line(path, int(at[1]), rest[at.end() :].rstrip("\r"), int(at[2]) if at[2] else None)
        else:
            yield Line(path, None)
