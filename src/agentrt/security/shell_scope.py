"""What a shell knows while a command line is walked: variables, aliases, functions, files that it wrote."""

from __future__ import annotations

import re

from .paths import Site, within
from .shell_text import ANY, FACT, FIELD, SECRET
from .shell_tree import Node

MAX_COPIES = 8
"""Copies of copies that are followed back."""

MAX_VALUES = 12
"""Values that a variable may have at once; beyond, it may have any."""

_SECRET = re.compile(
    r"(?i)(?:^|_)(?:\w*token|\w*secret|passw(?:or)?d|passphrase|api_?key|access_?key|private_?key|credentials?|\w*apikey)(?:_|$)"
)
_NUMBERS = ("UID", "EUID", "RANDOM", "SECONDS", "LINENO", "BASHPID", "COLUMNS", "LINES", "#", "?", "$", "!")
_FACTS = ("HOSTNAME", "OSTYPE", "MACHTYPE", "LANG", "TERM", "EPOCHSECONDS", "EPOCHREALTIME", "SRANDOM")


class Scope:
    """Mutable, and copied for each subshell. A name has all the values that it may have at this place."""

    def __init__(self, where: Site) -> None:
        self.where = where
        self.variables: dict[str, tuple[str, ...]] = {
            "PWD": (where.start,),
            "HOME": (where.home,),
            "USER": (where.home.rpartition("/")[2],),
            "LOGNAME": (where.home.rpartition("/")[2],),
            "SHELL": ("/bin/bash",),
            "IFS": (" \t\n",),
            "0": ("bash",),
            "PPID": ("1",),  # what the shell lives of
            "TMPDIR": ("/tmp", ""),
            **dict.fromkeys((*_NUMBERS, *_FACTS), (FACT,)),
        }
        self.aliases: dict[str, str] = {}
        self.functions: dict[str, Node] = {}
        self.fetched: list[str] = []
        """Directories that the line itself fetched."""
        self.programs: dict[str, str] = {}
        """Where the line put copies of programs, and of which."""
        self.files: dict[str, str] = {}
        """The text of files that are known, by path: given, or written by the line itself; shared by all subshells."""
        self.copied: dict[str, str] = {}
        """Of files that the line copied, and whose text is not known, where each came from; shared."""
        self.written: set[str] = set()
        """The paths of what the line writes; shared."""
        self.wanted: set[str] = set()
        """The paths of what is run and is not known; shared, too."""
        self.imported: set[str] = set()
        """The paths of modules that were read; shared."""

    def copy(self) -> Scope:
        """A subshell's: what it sets is its own, the files are everyone's."""
        other = Scope.__new__(Scope)
        other.where = self.where
        other.variables, other.aliases = dict(self.variables), dict(self.aliases)
        other.functions, other.files, other.programs = dict(self.functions), self.files, self.programs
        other.fetched, other.wanted, other.imported = self.fetched, self.wanted, self.imported
        other.copied, other.written = self.copied, self.written
        return other

    def text_of(self, path: str) -> str | None:
        """The text of a file that is run, where it is known; of a copy that of the file that it is one of."""
        for _ in range(MAX_COPIES):
            if path in self.files or (source := self._source(path)) is None:
                break
            path = source
        text = self.files.get(path)
        if text is None:
            self.wanted.add(path)
        return text

    def _source(self, path: str) -> str | None:
        """Where a file was copied from, by itself or with a directory."""
        for target, source in self.copied.items():
            if within(path, target):
                return source + path[len(target) :]
        return None

    def values(self, name: str) -> tuple[str, ...]:
        """All that `$name` may be; a mark when nothing is known of it."""
        found = self.variables.get(name)
        if found is not None:
            return found
        return (SECRET if _SECRET.search(name) else ANY,)

    def assign(self, name: str, values: tuple[str, ...]) -> None:
        """Set `name` to one of `values`."""
        self.variables[name] = few(values)

    def merge(self, other: Scope) -> None:
        """Go on from here or from `other`: who knows which."""
        for name in self.variables.keys() | other.variables.keys():
            mine, its = self.values(name), other.values(name)
            if mine != its:
                self.variables[name] = few((*mine, *its))
        self.aliases = {**other.aliases, **self.aliases}
        self.functions = {**other.functions, **self.functions}

    @property
    def directories(self) -> tuple[str, ...]:
        """Where the shell may be."""
        return self.variables["PWD"]

    def arguments(self, words: tuple[str, ...]) -> None:
        """Set the positional parameters."""
        for index in range(1, 10):
            self.variables[str(index)] = (words[index - 1],) if index <= len(words) else ("",)
        self.variables["@"] = self.variables["*"] = (FIELD.join(words),)


def few(values: tuple[str, ...]) -> tuple[str, ...]:
    """`values` once each, or a mark when there are too many."""
    unique = tuple(dict.fromkeys(values))
    return unique if len(unique) <= MAX_VALUES else (ANY,)
