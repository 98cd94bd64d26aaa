"""Pins: the files that a command names, as they were when a person saw it.

An agent can write in its workspace, and would else write its own permission. All functions are for a thread.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator

from .digests import file_digest, tree_digest

_PROJECT = re.compile(r"\$(?:(?:AGENTRT|CLAUDE|OPENHANDS)_PROJECT_DIR\b|\{(?:AGENTRT|CLAUDE|OPENHANDS)_PROJECT_DIR\})")


def pins_of(command: str, workspace: str) -> Iterator[tuple[str, str]]:
    """The files of a workspace that a command names, from the workspace on or from a directory that it names, each with
    its digest.
    """
    root = os.path.normpath(workspace)
    words = [word.rpartition("=")[2] for word in _words(_PROJECT.sub(lambda _: root, command))]
    directories = [root, *(os.path.join(root, word) for word in words if os.path.isdir(os.path.join(root, word)))]
    seen = set[str]()
    for word in words:
        for directory in directories:
            path = os.path.relpath(os.path.join(directory, word), root)
            if path.startswith("..") or path in seen:
                continue
            seen.add(path)
            if (digest := file_digest(os.path.join(root, path))) is not None:
                yield path, digest


def changed(pins: Iterable[tuple[str, str]], workspace: str) -> str | None:
    """The first path, from the workspace on, at which there is something else than what was pinned."""
    for path, digest in pins:
        if _digest(os.path.join(workspace, path)) != digest:
            return path
    return None


def _words(command: str) -> list[str]:
    """The words of a command, and of what is quoted in it: `sh -c "./check.sh; true"` names a file, too."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return [piece.strip("'\"()<>|&;") for word in words for piece in (word, *re.split(r"[\s;&|<>()]+", word)) if piece]


def _digest(path: str) -> str | None:
    """The SHA-256 of a file, or of all that is below a directory."""
    return tree_digest(path) if os.path.isdir(path) else file_digest(path)
