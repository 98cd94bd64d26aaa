"""`Scope`: the state of a shell while a command is walked: variables, aliases, functions, files that it wrote."""

from __future__ import annotations

import re

from .budget import Budget
from .paths import Site, within
from .shell_text import ANY, FACT, FIELD, SECRET
from .shell_tree import Node

MAX_COPIES = 8
"""Maximum number of copies of copies that are followed back."""

MAX_VALUES = 12
"""Maximum number of possible values of a variable; one with more may have any value."""

_SECRET = re.compile(
    r"(?i)(?:token|secret|apikey|(?:^|_)(?:passw(?:or)?d|passphrase|api_?key|access_?key|private_?key|credentials?))(?:_|$)"
)
_NUMBERS = ("UID", "EUID", "RANDOM", "SECONDS", "LINENO", "BASHPID", "COLUMNS", "LINES", "#", "?", "$", "!")
_FACTS = ("HOSTNAME", "OSTYPE", "MACHTYPE", "LANG", "TERM", "EPOCHSECONDS", "EPOCHREALTIME", "SRANDOM")


class Scope:
    """The mutable state of a shell, copied for each subshell. A variable has all values that it may have at a point."""

    def __init__(self, where: Site, budget: Budget) -> None:
        self.where = where
        self.budget = budget
        """What the rating may still take; shared."""
        self.variables: dict[str, tuple[str, ...]] = {
            "PWD": (where.start,),
            "HOME": (where.home,),
            "USER": (where.home.rpartition("/")[2],),
            "LOGNAME": (where.home.rpartition("/")[2],),
            "SHELL": ("/bin/bash",),
            "IFS": (" \t\n",),
            "0": ("bash",),
            "PPID": ("1",),  # `kill $PPID` is rated like `kill 1`
            "TMPDIR": ("/tmp", ""),
            **dict.fromkeys((*_NUMBERS, *_FACTS), (FACT,)),
        }
        self.aliases: dict[str, str] = {}
        self.functions: dict[str, Node] = {}
        self.fetched: list[str] = []
        """Directories that the command itself cloned with git; shared by all subshells."""
        self.programs: dict[str, str] = {}
        """Names of programs that the command copied, by the path of the copy; shared."""
        self.files: dict[str, str] = {}
        """The known texts of files, by path: given, or written by the command itself; shared."""
        self.copied: dict[str, str] = {}
        """The source of each copy that the command made of a file with unknown text; shared."""
        self.written: set[str] = set()
        """The paths of files that the command writes; shared."""
        self.wanted: set[str] = set()
        """The paths of files that are run or appended to and whose text is not known; shared."""
        self.imported: set[str] = set()
        """The paths of Python modules that were read; shared."""
        self.admitted: set[str] = set()
        """The paths of files whose texts were counted; shared."""
        self.rated: set[tuple[str, str, int]] = set()
        """The scripts that patterns have rated: the language, the directory, and the hash of the text; shared."""

    def copy(self) -> Scope:
        """Return the scope of a subshell: its variables, aliases and functions are its own, the files are shared."""
        other = Scope.__new__(Scope)
        self.budget.work -= 8 + len(self.variables) // 4 + len(self.functions)
        other.where, other.budget = self.where, self.budget
        other.variables, other.aliases = dict(self.variables), dict(self.aliases)
        other.functions, other.files, other.programs = dict(self.functions), self.files, self.programs
        other.fetched, other.wanted, other.imported = self.fetched, self.wanted, self.imported
        other.rated, other.admitted = self.rated, self.admitted
        other.copied, other.written = self.copied, self.written
        return other

    def text_of(self, path: str) -> str | None:
        """Return the text of a file that is run; for a copy, that of its source.

        If the text is not known, return None and add the path to `wanted`.
        """
        for _ in range(MAX_COPIES):
            if path in self.files or (source := self._source(path)) is None:
                break
            path = source
        text = self.files.get(path)
        if text is None:
            self.wanted.add(path)
        elif path not in self.admitted and path not in self.written:
            self.admitted.add(path)
            self.budget.admit(text)
        return text

    def _source(self, path: str) -> str | None:
        """Return the path from which a file was copied, by itself or with its directory."""
        self.budget.spend(len(self.copied))
        for target, source in self.copied.items():
            if within(path, target):
                return source + path[len(target) :]
        return None

    def values(self, name: str) -> tuple[str, ...]:
        """Return all values that `$name` may have; a mark if it is not known."""
        found = self.variables.get(name)
        if found is not None:
            return found
        return (SECRET if _SECRET.search(name) else ANY,)

    def assign(self, name: str, values: tuple[str, ...]) -> None:
        """Set `name` to one of `values`."""
        self.variables[name] = few(values)

    def merge(self, other: Scope) -> None:
        """Add the possible values of `other`: the shell is in this state or in that one."""
        self.budget.spend(8 + len(self.variables) // 2)
        for name in self.variables.keys() | other.variables.keys():
            mine, its = self.values(name), other.values(name)
            if mine != its:
                self.variables[name] = few((*mine, *its))
        self.aliases = {**other.aliases, **self.aliases}
        self.functions = {**other.functions, **self.functions}

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories in which the shell may be."""
        return self.variables["PWD"]

    def arguments(self, words: tuple[str, ...]) -> None:
        """Set the positional parameters."""
        self.budget.spend(16 + sum(map(len, words)))
        for index in range(1, 10):
            self.variables[str(index)] = (words[index - 1],) if index <= len(words) else ("",)
        self.variables["@"] = self.variables["*"] = (FIELD.join(words),)


def few(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the distinct `values`, or a mark if there are more than `MAX_VALUES`."""
    unique = tuple(dict.fromkeys(values))
    return unique if len(unique) <= MAX_VALUES else (ANY,)
