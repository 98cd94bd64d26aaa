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

_PROJECT = re.compile(r"\$(?:AGENTRT_PROJECT_DIR\b|\{AGENTRT_PROJECT_DIR\})")


def pinned(hooks: Sequence[Hook], workspace: str) -> tuple[Hook, ...]:
    """The hooks, each with the files of the workspace that its command names, as they are now."""
    return tuple(
        msgspec.structs.replace(hook, pinned=(*_of_plugin(hook), *_pins(hook.command, workspace)))
        if hook.command
        else hook
        for hook in hooks
    )


def changed(hook: Hook, workspace: str) -> str | None:
    """The first of a hook's files, by its path from the workspace on, that is not as it was pinned."""
    for path, digest in hook.pinned:
        if _digest(os.path.join(workspace, path)) != digest:
            return path
    return None


def _of_plugin(hook: Hook) -> tuple[tuple[str, str], ...]:
    """What a plugin's hook is held to is all of the plugin, as a person agreed to it."""
    return tuple(pin for pin in hook.pinned if hook.root and pin[0] == hook.root)


def _pins(command: str, workspace: str) -> Iterator[tuple[str, str]]:
    root = os.path.normpath(workspace)
    seen = set[str]()
    for word in _words(_PROJECT.sub(lambda _: root, command)):
        path = os.path.relpath(os.path.join(root, word.rpartition("=")[2]), root)
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
