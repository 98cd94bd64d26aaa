"""Pins: digests of the files that a command names, from when a person saw the command.

Without them an agent could write its own permission, since it can write in its workspace. All functions are for a
thread.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator

from .digests import file_digest, tree_digest

_PROJECT = re.compile(r"\$(?:(?:AGENTRT|CLAUDE|OPENHANDS)_PROJECT_DIR\b|\{(?:AGENTRT|CLAUDE|OPENHANDS)_PROJECT_DIR\})")


_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", "/index.js")
_MAINS = ("__main__.py", "__init__.py", "package.json", "index.js", "pyproject.toml", "Makefile")
"""Files any of which makes a directory a program."""


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
        if _digest(os.path.join(workspace, path)) != digest:
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
