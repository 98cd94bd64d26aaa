"""Pins: digests of the files that a command names, from when a person saw the command.

Without them an agent could write its own permission, since it can write in its workspace. All functions are for a
thread.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise, takewhile

from .digests import file_digest, tree_digest

_PROJECT = re.compile(r"\$(?:(?:AGENTRT|CLAUDE|OPENHANDS)_PROJECT_DIR\b|\{(?:AGENTRT|CLAUDE|OPENHANDS)_PROJECT_DIR\})")


_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", "/index.js")
_PROGRAMS = (
    *(".py", ".pyz", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".sh", ".bash", ".fish", ".rb"),
    *(".pl", ".php", ".lua", ".exs", ".go", ".jar"),
)
"""Endings of files that an interpreter runs."""
_INTERPRETER = re.compile(
    r"(?:[abdkz]|da|fi|c|tc)?sh|python[\d.]*|pypy[\d.]*|node(?:js)?|deno|bun|tsx|ts-node|ruby|perl|php|luajit|lua[\d.]*|Rscript"
    r"|julia|elixir|go|java|dotnet"
)
"""Programs whose first operand is a file that they run, whatever it is called."""
_SUBCOMMANDS = frozenset({"run", "exec"})
_RUNNERS = frozenset({"npx", "pnpx", "bunx", "npm", "pnpm", "yarn", "bun"})
"""Programs that run a command of the packages in `node_modules`, or a script of `package.json`."""
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MAINS = ("__main__.py", "__init__.py", "package.json", "index.js", "pyproject.toml", "Makefile")
"""Files any of which makes a directory a program."""
ABSENT = ""
"""The digest of a file that is not there."""


def pins_of(command: str, workspace: str, cwd: str = "") -> Iterator[tuple[str, str]]:
    """Yield the files of a workspace that a command names, each with its digest. Names may be relative to the
    workspace, to the directory `cwd` in it where the command is started, or to a directory that the command names. A
    module's name stands for its file, or for all of its package.
    """
    root = os.path.normpath(workspace)
    words = [word.rpartition("=")[2] for word in _words(_PROJECT.sub(lambda _: root, command))]
    start = os.path.join(root, cwd)
    named = (os.path.join(place, word) for place in dict.fromkeys((root, start)) for word in words)
    directories = list(dict.fromkeys((root, start, *filter(os.path.isdir, named))))
    places = (os.path.join(place, name) for word in words for name in _names(word) for place in directories)
    for path in dict.fromkeys(os.path.relpath(place, root) for place in places):
        found = os.path.join(root, path)
        if path == "." or path.startswith("..") or (os.path.isdir(found) and not _is_package(found)):
            continue
        if (digest := _digest(found)) is not None:
            yield path, digest


def pins_of_program(
    command: str, args: Sequence[str], workspace: str, cwd: str = "", path: str | None = None, *, data: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the files of a workspace that are run by a command which is started in it, each with its digest: programs,
    scripts, modules and packages, and with `data` also the other files that it names. A file that does not exist yet,
    and would be run if it did, has the digest `ABSENT`. `path` is the command's `PATH`; None: that of this process.
    """
    root = os.path.normpath(workspace)
    start = os.path.normpath(os.path.join(root, cwd))
    path = os.environ.get("PATH", os.defpath) if path is None else path
    yielded = set[str]()
    for name, digest in pins_of(shlex.join((command, *args)), root, cwd):
        if data or _is_program(os.path.join(root, name)):
            yielded.add(name)
            yield name, digest
    words = [word for arg in (command, *args) for word in (_words(arg) if any(map(str.isspace, arg)) else [arg])]
    places = (*_places_of(command, start, path), *_modules(args, start), *_scripts(args, start))
    for place in (*places, *_interpreted(words, start), *_of_runners(words, start)):
        name = os.path.relpath(place, root)
        if name not in yielded and not name.startswith("..") and name != ".":
            yielded.add(name)
            yield name, _digest(place) or ABSENT


def _is_program(path: str) -> bool:
    return os.path.isdir(path) or path.endswith(_PROGRAMS) or os.access(path, os.X_OK)


def _places_of(command: str, start: str, path: str) -> Iterator[str]:
    """Yield the files that a command's first word may stand for, up to the one that is there, and where that leads."""
    places = [command] if os.sep in command else [os.path.join(place, command) for place in path.split(os.pathsep)]
    for name in places:
        place = os.path.normpath(os.path.join(start, name))
        yield place
        if os.path.isfile(place) and os.access(place, os.X_OK):
            yield os.path.realpath(place)
            return


def _modules(args: Sequence[str], start: str) -> Iterator[str]:
    """Yield the files and packages that a module after `-m` may stand for in the directory where Python starts."""
    joined = (("-m", arg[2:]) for arg in args if arg.startswith("-m"))
    for option, name in (*pairwise(args), *joined):
        if option == "-m" and _MODULE.fullmatch(name):
            top = os.path.join(start, name.partition(".")[0])
            yield from (top, f"{top}.py")


def _interpreted(words: Sequence[str], start: str) -> Iterator[str]:
    """Yield the first file after each interpreter among some words."""
    for at, word in enumerate(words):
        if _INTERPRETER.fullmatch(os.path.basename(word)):
            after = takewhile(lambda one: one[:2] not in ("-m", "-c"), words[at + 1 :])
            first = (os.path.join(start, operand) for operand in _first_operand(after))
            yield from filter(os.path.isfile, first)


def _of_runners(words: Sequence[str], start: str) -> Iterator[str]:
    """Yield what runners of packages, and make, take from the directory where they start."""
    for at, word in enumerate(map(os.path.basename, words)):
        if word in _RUNNERS:
            yield os.path.join(start, "package.json")
            for name in _first_operand(words[at + 1 :]):
                place = os.path.join(start, "node_modules", ".bin", name.rpartition("/")[2].partition("@")[0])
                yield from dict.fromkeys((place, os.path.realpath(place)))
        elif word == "make":
            yield from (os.path.join(start, name) for name in _MAKEFILES)


def _first_operand(words: Iterable[str]) -> Iterator[str]:
    """Yield the first word that is not an option and no subcommand, if there is one."""
    yield from islice((word for word in words if not word.startswith("-") and word not in _SUBCOMMANDS), 1)


def _scripts(args: Sequence[str], start: str) -> Iterator[str]:
    return (os.path.join(start, word) for word in args if word.endswith(_PROGRAMS) and not word.startswith("-"))


def _names(word: str) -> Iterator[str]:
    """Yield the files and packages that a word may stand for."""
    for stem in dict.fromkeys((word, word.replace(".", "/") if _MODULE.fullmatch(word) else word)):
        yield stem
        yield from (f"{stem}{ending}" for ending in _ENDINGS)


def _is_package(directory: str) -> bool:
    return any(os.path.isfile(os.path.join(directory, main)) for main in _MAINS)


def changed(pins: Iterable[tuple[str, str]], workspace: str) -> str | None:
    """Return the first path, relative to the workspace, whose content is not what was pinned; None if there is none."""
    for path, digest in pins:
        if (_digest(os.path.join(workspace, path)) or ABSENT) != digest:
            return path
    return None


def _words(command: str) -> list[str]:
    """Return the words of a command and of quoted parts of it: `sh -c "./check.sh; true"` names a file, too."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return [piece.strip("'\"()<>|&;") for word in words for piece in (word, *re.split(r"[\s;&|<>()]+", word)) if piece]


def _digest(path: str) -> str | None:
    """Return the SHA-256 of a file, or of all that is below a directory."""
    return tree_digest(path) if os.path.isdir(path) else file_digest(path)
