"""`Call`: a program with its arguments; `options`: parses them. Pure."""

from __future__ import annotations

import re

import msgspec

from .paths import Place, Site, Zone, place

_VERSION = re.compile(r"((?:python|pypy|pip|perl|ruby|node|php|lua|gcc|clang|go|java|bash|tclsh|gawk)w?)[-\d.]+$")
_NAMES = {
    "nodejs": "node", "pypy": "python", "pythonw": "python", "ipython": "python", "gawk": "awk", "mawk": "awk",
    "nawk": "awk", "vi": "vim", "nvim": "vim", "view": "vim", "ex": "vim", "rvim": "vim", "ncat": "nc", "netcat": "nc",
    "nc.openbsd": "nc", "nc.traditional": "nc", "gtar": "tar", "bsdtar": "tar", "gsed": "sed", "gfind": "find",
    "grm": "rm", "podman": "docker", "nerdctl": "docker", "tofu": "terraform", "oc": "kubectl", "pnpx": "npx",
    "bunx": "npx", "mariadb": "mysql", "egrep": "grep", "fgrep": "grep", "rgrep": "grep", "ripgrep": "rg",
    "batcat": "bat", "less": "less", "more": "less", "most": "less", "doas": "sudo",
    "su-exec": "gosu", "lua5": "lua", "gmake": "make", "httpie": "http", "https": "http", "xh": "http",
}  # fmt: skip


JAVASCRIPT = frozenset({"node", "deno", "bun"})
"""The programs that run JavaScript; `deno` and `bun` also install packages."""


class Call(msgspec.Struct, frozen=True):
    """A program and its arguments; marks stand for unknown parts. `stdin` is None if nothing is piped in."""

    name: str
    words: tuple[str, ...]
    directory: str
    where: Site
    stdin: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    path: str = ""
    """The program's name or path as it was written."""

    def place(self, text: str) -> Place:
        """Return where a path in the arguments leads."""
        return place(text, self.directory, self.where)

    def leaves(self, text: str) -> bool:
        """Return whether a path in the arguments certainly leads out of the workspace and the temporary directories."""
        return self.place(text).zone in (Zone.OUTSIDE, Zone.SYSTEM)


class Options(msgspec.Struct, frozen=True):
    """The parsed options of a command, each a letter or a long name, and its operands."""

    flags: tuple[str, ...]
    values: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]

    def has(self, *names: str) -> bool:
        """Return whether one of these options was given; long names may be abbreviated, as getopt allows."""
        return any(
            flag == name or (len(name) > 1 and len(flag) > 1 and name.startswith(flag))
            for flag in self.flags
            for name in names
        )

    def all(self, *names: str) -> tuple[str, ...]:
        """Return the values of these options; long names may be abbreviated."""
        return tuple(
            value
            for given, value in self.values
            if any(given == name or (len(name) > 1 < len(given) and name.startswith(given)) for name in names)
        )


def names(text: str) -> frozenset[str]:
    """Return the whitespace-separated names in `text`."""
    return frozenset(text.split())


def program(path: str) -> str:
    """Return the common name of a program: without directory, version or variant (`gsed` is `sed`)."""
    name = path.rstrip("/").rpartition("/")[2].removesuffix(".exe")
    version = _VERSION.match(name)
    name = version[1] if version else name
    return _NAMES.get(name, name)


def options(
    words: tuple[str, ...], valued: str = "", long_valued: tuple[str, ...] = (), first: bool = False
) -> Options:
    """Parse `words`. Letters in `valued` and names in `long_valued` take a value.

    With `first`, the first operand ends the options.
    """
    flags: list[str] = []
    values: list[tuple[str, str]] = []
    operands: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            operands.extend(words[index:])
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            flags.append(name)
            if equals:
                values.append((name, value))
            elif index < len(words) and any(long.startswith(name) for long in long_valued):
                values.append((name, words[index]))
                index += 1
        elif word.startswith("-") and len(word) > 1:
            index = _cluster(word, words, index, valued, flags, values)
        else:
            operands.append(word)
            if first:
                operands.extend(words[index:])
                break
    return Options(tuple(flags), tuple(values), tuple(operands))


def _cluster(
    word: str, words: tuple[str, ...], index: int, valued: str, flags: list[str], values: list[tuple[str, str]]
) -> int:
    for at, letter in enumerate(word[1:], start=1):
        flags.append(letter)
        if letter in valued:
            if at + 1 < len(word):
                values.append((letter, word[at + 1 :]))
            elif index < len(words):
                values.append((letter, words[index]))
                return index + 1
            return index
    return index
