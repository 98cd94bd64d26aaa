"""Pins: a hook's program that stands in the workspace is run only as it was when the hook was configured.

An agent can write there, and would else write its own permission. All functions are for a thread: they block.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from hashlib import sha256

import msgspec

from ..specs.hooks import Hook

_PROJECT = re.compile(r"\$(?:AGENTRT_PROJECT_DIR\b|\{AGENTRT_PROJECT_DIR\})")


def pinned(hooks: Sequence[Hook], workspace: str) -> tuple[Hook, ...]:
    """The hooks, each with the files of the workspace that its command names, as they are now."""
    return tuple(
        msgspec.structs.replace(hook, pinned=tuple(_pins(hook.command, workspace))) if hook.command else hook
        for hook in hooks
    )


def changed(hook: Hook, workspace: str) -> str | None:
    """The first of a hook's files, by its path from the workspace on, that is not as it was pinned."""
    for path, digest in hook.pinned:
        if _digest(os.path.join(workspace, path)) != digest:
            return path
    return None


def _pins(command: str, workspace: str) -> Iterator[tuple[str, str]]:
    root = os.path.normpath(workspace)
    seen = set[str]()
    for word in _words(_PROJECT.sub(lambda _: root, command)):
        path = os.path.relpath(os.path.join(root, word.rpartition("=")[2]), root)
        if path.startswith("..") or path in seen:
            continue
        seen.add(path)
        if (digest := _digest(os.path.join(root, path))) is not None:
            yield path, digest


def _words(command: str) -> list[str]:
    """The words of a command, and of what is quoted in it: `sh -c "./check.sh; true"` names a file, too."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return [piece.strip("'\"()<>|&;") for word in words for piece in (word, *re.split(r"[\s;&|<>()]+", word)) if piece]


def _digest(path: str) -> str | None:
    """The SHA-256 of a regular file, in hex; None for what is none, or cannot be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            digest = sha256()
            while piece := file.read(1 << 20):
                digest.update(piece)
            return digest.hexdigest()
    except (OSError, ValueError):
        return None
