"""Pins: a hook's program that stands in the workspace is run only as it was when the hook was configured.

An agent can write there, and would else write its own permission. All functions are for a thread: they block.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence

import msgspec

from ..digests import file_digest, tree_digest
from ..specs.hooks import Hook

_PROJECT = re.compile(r"\$(?:(?:AGENTRT|CLAUDE|OPENHANDS)_PROJECT_DIR\b|\{(?:AGENTRT|CLAUDE|OPENHANDS)_PROJECT_DIR\})")


def pinned(hooks: Sequence[Hook], workspace: str) -> tuple[Hook, ...]:
    """The hooks, each with the files of the workspace that its command names, as they are now.

    One of a project or a plugin keeps what a person agreed to.
    """
    return tuple(
        msgspec.structs.replace(hook, pinned=tuple(pins_of(hook.command, workspace)))
        if hook.command and not hook.root
        else hook
        for hook in hooks
    )


def changed(hook: Hook, workspace: str) -> str | None:
    """The first of a hook's files, by its path from the workspace on, that is not as it was pinned."""
    for path, digest in hook.pinned:
        if _digest(os.path.join(workspace, path)) != digest:
            return path
    return None


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
