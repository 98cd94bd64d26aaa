"""Searches files without ripgrep, with the same results. It is a separate program, run by its path.

It reads a `Request` as JSON from standard input, and prints as `rg --null` does. It follows no link below the root,
even one that is put there meanwhile, because it opens each directory relative to the one above. It imports libraries
that are installed with this package, but nothing of the package itself: that would take longer than most searches.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import regex
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

LONGEST = 4096
"""Maximum number of characters printed of a line."""

IGNORE_FILES = (".rgignore", ".ignore", ".gitignore")
"""The ignore files of a directory, by precedence (ripgrep's GUIDE.md, "Automatic filtering")."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a directory on the way, which need not be readable."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_AT_ONCE = 1 << 16
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_Line: TypeAlias = tuple[bool, "re.Pattern[bytes]", bool]
"""A line of an ignore file: whether it ignores, its pattern, and whether it matches only paths below a directory."""


class Request(NamedTuple):
    """A search below `path`, which is relative to `root` and has no links."""

    root: str
    path: str
    pattern: str | None = None
    """A pattern of `regex`; None: the files are listed."""
    ignore_case: bool = False
    every: bool = False
    """Whether files count that ignore files exclude."""
    include: tuple[str, ...] = ()
    """Patterns of `re`, one of which must match a file's path relative to `path`; empty: all files count."""
    depth: int | None = None
    """Number of directory levels to search, including the first; None: all."""
    files: tuple[str, ...] = ()
    """The only files to search, by their paths relative to `path`; empty: all files."""
    lines: bool = False
    """Whether the matching lines are printed, instead of their number in each file."""
    context: int = 0


class Rules:
    """The lines of one ignore file in the directory `base` (gitignore(5))."""

    def __init__(self, text: str, base: str) -> None:
        found: list[_Line] = []
        for line in text.splitlines():
            try:
                source, include = GitIgnoreSpecPattern.pattern_to_regex(line)
                if source is None or include is None:
                    continue
                source = str(source).replace("(?P<ps_d>/)", "/$")
                source = ".*/$" if source == "/$" else source
                compiled = re.compile(source.encode("utf-8", "surrogateescape"), re.DOTALL)
            except (ValueError, re.error):
                continue  # git skips an invalid line, too
            found.append((include, compiled, source.endswith("/")))
        self._lines = found[::-1]
        self._any = re.compile(b"|".join(b"(?:%b)" % line[1].pattern for line in found), re.DOTALL) if found else None
        self._skip = len(base) + 1 if base else 0

    def ignore(self, path: str) -> bool | None:
        """Return what the last line that matches decides for a path, or None. A directory's path ends with a slash."""
        name = path[self._skip :].encode("utf-8", "surrogateescape")  # "?" means a byte, for git as well
        if self._any is None or not self._any.match(name):
            return None
        for ignores, pattern, below in self._lines:
            if (found := pattern.match(name)) and not (below and found.end() == len(name)):
                return ignores
        return None


class Place(NamedTuple):
    """A directory on the way down: its rules by the name of their file, and the directories above."""

    rules: dict[str, Rules]
    is_repository: bool
    above: Place | None


def ignored(path: str, place: Place) -> bool:
    """Return whether ignore files exclude a path. They count in the order of `IGNORE_FILES`, and for each name from the
    nearest directory upwards; those of git only within their repository.
    """
    for name in IGNORE_FILES:
        at: Place | None = place
        while at is not None:
            if name in at.rules and (said := at.rules[name].ignore(path)) is not None:
                return said
            if name == ".gitignore" and at.is_repository:
                break
            at = at.above
    return False


class Directory(NamedTuple):
    """An open directory, and its entries that are still to be visited."""

    descriptor: int
    path: str
    place: Place | None
    names: list[str]
    below: list[str]


class Walk:
    """The files below a directory; links are skipped."""

    def __init__(self, request: Request) -> None:
        self._every, self._skip = request.every, len(request.path) + 1 if request.path else 0
        self._depth = sys.maxsize if request.depth is None else request.depth
        self._include = [re.compile(pattern, re.DOTALL) for pattern in request.include]
        self._start = self._enter(request)

    def _enter(self, request: Request) -> Directory:
        """Open the directory to start in; the rules of the directories on the way there count."""
        descriptor, path, place = os.open(request.root, _THROUGH & ~os.O_NOFOLLOW), "", None
        for name in request.path.split("/") if request.path else ():
            place = self._place(descriptor, path, _there(descriptor), place)
            below = os.open(name, _THROUGH, dir_fd=descriptor)
            os.close(descriptor)
            descriptor, path = below, f"{path}/{name}".lstrip("/")
        start = os.open(".", _DIRECTORY, dir_fd=descriptor)
        os.close(descriptor)
        return self._seen(start, path, place)

    def _seen(self, descriptor: int, path: str, above: Place | None) -> Directory:
        names, below, there = [], [], set[str]()
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    names.append(entry.name)
                if entry.name in _TELLING:
                    there.add(entry.name)
        return Directory(descriptor, path, self._place(descriptor, path, there, above), names, below)

    def _place(self, descriptor: int, path: str, there: set[str], above: Place | None) -> Place | None:
        if self._every or not there:
            return above
        rules = {name: Rules(_read_text(name, descriptor), path) for name in IGNORE_FILES if name in there}
        return Place(rules, ".git" in there, above)

    def files(self) -> Iterator[tuple[int, str, str]]:
        """Yield for each file the descriptor of its directory, its name there, and its path relative to the start."""
        stack = [self._start]
        try:
            while stack:
                at = stack[-1]
                prefix = f"{at.path}/" if at.path else ""
                for name in at.names:
                    path = f"{prefix}{name}"
                    shown = path[self._skip :]
                    if name == ".git" or (self._include and not any(one.match(shown) for one in self._include)):
                        continue
                    if at.place is None or not ignored(path, at.place):
                        yield at.descriptor, name, shown
                at.names.clear()
                if len(stack) >= self._depth:
                    at.below.clear()
                if (below := self._next(at, prefix)) is not None:
                    stack.append(below)
                elif not at.below:
                    os.close(stack.pop().descriptor)
        finally:  # the caller may stop early
            for at in stack:
                os.close(at.descriptor)

    def named(self, paths: Sequence[str]) -> Iterator[tuple[int, str, str]]:
        """Yield the same for files named by their paths relative to the start; skip those whose directory is gone."""
        for path in paths:
            *above, name = path.split("/")
            opened = [self._start.descriptor]
            try:
                for part in above:
                    opened.append(os.open(part, _DIRECTORY, dir_fd=opened[-1]))
                yield opened[-1], name, path
            except OSError:
                continue
            finally:
                for descriptor in opened[1:]:
                    os.close(descriptor)

    def _next(self, at: Directory, prefix: str) -> Directory | None:
        name = at.below.pop() if at.below else ".git"
        path = f"{prefix}{name}"
        if name == ".git" or (at.place is not None and ignored(f"{path}/", at.place)):
            return None
        try:
            return self._seen(os.open(name, _DIRECTORY, dir_fd=at.descriptor), path, at.place)
        except OSError:
            return None  # it is gone, became a link, or may not be read


class Search:
    """Finds the lines of files that a pattern matches."""

    def __init__(self, request: Request) -> None:
        assert request.pattern is not None
        flags = regex.V1 | regex.MULTILINE | (regex.IGNORECASE if request.ignore_case else 0)
        self._compiled = regex.compile(request.pattern, flags)
        self._looks_around = _LOOKS_AROUND.search(request.pattern) is not None
        self._context = request.context

    def lines(self, name: str, directory: int) -> tuple[list[str], list[int]]:
        """Return the lines of a file, and the indices of those that match.

        Both are empty for a file that is binary, not a regular file or unreadable, and may be if no line matches.
        """
        try:
            text = _read_text(name, directory)
        except OSError:
            return [], []
        if "\r" in text:
            text = text.replace("\r\n", "\n").removesuffix("\r")
        # if the whole text has no match, no line has one, unless the pattern looks at the text around a match
        if not text or "\0" in text or not (self._looks_around or self._compiled.search(text)):
            return [], []
        lines = text.removesuffix("\n").split("\n")
        return lines, [number for number, line in enumerate(lines) if self._compiled.search(line)]

    def shown(self, path: str, lines: list[str], found: list[int]) -> Iterator[str]:
        """Yield the output for a file's lines."""
        hits, last = set(found), -1
        wanted = {near for at in found for near in range(at - self._context, at + self._context + 1)}
        for number in sorted(near for near in wanted if 0 <= near < len(lines)):
            if self._context and last >= 0 and number > last + 1:
                yield "--\n"
            line = lines[number]
            found_at = self._compiled.search(line) if number in hits else None
            column = "-" if found_at is None else f":{_bytes(line[: found_at.start()]) + 1}:"
            yield f"{path}\0{number + 1}{column}{line[:LONGEST]}\n"
            last = number


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


_TELLING = frozenset({*IGNORE_FILES, ".git"})
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]|\(\?>|[*+?}]\+")
"""Syntax with which a line may match although the whole text does not."""


def _there(directory: int) -> set[str]:
    """Return which names in `_TELLING` are in a directory, which need not be readable."""
    found = set[str]()
    for name in _TELLING:
        with contextlib.suppress(OSError):
            os.stat(name, dir_fd=directory, follow_symlinks=False)
            found.add(name)
    return found


def _read_text(name: str, directory: int) -> str:
    """Return a regular file's text, else ""; a byte that is not UTF-8 becomes a surrogate. Raises `OSError`."""
    descriptor = os.open(name, _FILE, dir_fd=directory)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return ""
        parts = [os.read(descriptor, max(found.st_size + 1, _AT_ONCE))]
        while parts[-1]:
            parts.append(os.read(descriptor, _AT_ONCE))
    finally:
        os.close(descriptor)
    data = b"".join(parts)
    if data.startswith(_WIDE):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def run(request: Request) -> Iterator[str]:
    """Yield the output. Raises `OSError` and `regex.error`."""
    walk = Walk(request)
    if request.pattern is None:
        for _, _, path in walk.files():
            yield f"{path}\0"
        return
    search, begun = Search(request), False
    for directory, name, path in walk.named(request.files) if request.files else walk.files():
        lines, found = search.lines(name, directory)
        if found and not request.lines:
            yield f"{path}\0{len(found)}\n"
        elif found:
            if begun and request.context:
                yield "--\n"
            begun = True
            yield from search.shown(path, lines, found)


def main() -> int:
    """Run the request on standard input; return the exit status."""
    try:
        request = Request(**json.load(sys.stdin.buffer))
        with open(sys.stdout.fileno(), "w", encoding="utf-8", errors="surrogateescape", newline="") as output:
            output.writelines(run(request))
    except regex.error as error:
        why = str(error).partition(" at position ")[0]  # the position is one in the translated pattern
        print(f"not a pattern: {why}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0  # the reader has enough
    except RecursionError:
        print("not a pattern: it nests too deep", file=sys.stderr)
        return 2
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
