"""Reads hooks from files: `hooks.json` of a project or a plugin, in the format of Claude Code and OpenHands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from ..specs import ToolDefinition
from ..specs.hooks import Hook, hooks_from_json, is_for
from .text import Reader

FILES = (".agents/hooks.json", ".openhands/hooks.json")
"""A project's files of hooks, below its workspace or the root of its repository; the first one with hooks counts."""


def read_hooks(path: Path, reader: Reader, root: str = "") -> tuple[Hook, ...]:
    """Return the hooks in a file. If it cannot be used, note a problem and return none."""
    text = reader.read(path)
    if text is None:
        return ()
    try:
        given = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        reader.tell(path, f"its hooks cannot be used: {error}")
        return ()
    return hooks_of(given, path, reader, root)


def hooks_of(given: object, path: Path, reader: Reader, root: str = "") -> tuple[Hook, ...]:
    """Return the hooks in the decoded JSON of a file; `root` is the directory of the plugin that brings them. Note a
    problem for each that cannot run here; if none can be used, note one and return none.
    """
    try:
        found = hooks_from_json(given, partial(reader.tell, path))
    except (ValueError, RecursionError) as error:
        reader.tell(path, f"its hooks cannot be used: {error}")
        return ()
    return tuple(msgspec.structs.replace(hook, root=root) for hook in found)


def meant(hooks: Collection[Hook], tools: Iterable[ToolDefinition]) -> tuple[Hook, ...]:
    """Return the hooks; those that name tools as Claude Code does ("Bash", "Edit|Write") match our tools."""
    known = list(tools) if hooks else []  # looking at them may import them
    return tuple(_meant(hook, known) for hook in hooks)


def _meant(hook: Hook, tools: Sequence[ToolDefinition]) -> Hook:
    names = [tool.name for tool in tools if any(is_for(hook, name) for name in (tool.name, *_names(tool)))]
    own = {tool.name for tool in tools if is_for(hook, tool.name)}
    if own >= set(names):
        return hook
    return msgspec.structs.replace(hook, matcher="|".join(names))


def _names(tool: ToolDefinition) -> Iterator[str]:
    """Yield the other names of a tool, as they are and as Claude Code writes them."""
    for name in (*tool.aliases, *tool.parts):
        yield name
        yield "".join(word.title() for word in name.split("_"))
    if "multiedit" in tool.parts:
        yield "MultiEdit"
