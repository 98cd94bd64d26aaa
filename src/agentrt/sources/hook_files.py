"""Hooks in files: `hooks.json` of a project or a plugin, in the form that Claude Code and OpenHands read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from ..specs import ToolDefinition
from ..specs.hooks import Hook, hooks_from_json, is_for
from .text import Reader

FILES = (".agents/hooks.json", ".openhands/hooks.json")
"""Those of a project, below its workspace; the first one that is there counts."""


def read_hooks(path: Path, reader: Reader, root: str = "") -> tuple[Hook, ...]:
    """The hooks of a file; none, and a problem, where it cannot be used."""
    text = reader.read(path)
    if text is None:
        return ()
    try:
        return hooks_of(msgspec.json.decode(text), root)
    except (ValueError, RecursionError) as error:
        reader.tell(path, f"its hooks cannot be used: {error}")
        return ()


def hooks_of(given: object, root: str = "") -> tuple[Hook, ...]:
    """The hooks in what was decoded; `root` is the directory of the plugin that brings them.

    Raises `ValueError` for what cannot be.
    """
    return tuple(msgspec.structs.replace(hook, root=root) for hook in hooks_from_json(given))


def meant(hooks: Iterable[Hook], tools: Iterable[ToolDefinition]) -> tuple[Hook, ...]:
    """The hooks, of which those that name tools as Claude Code does ("Bash", "Edit|Write") are for ours."""
    known = list(tools)
    return tuple(_meant(hook, known) for hook in hooks)


def _meant(hook: Hook, tools: Sequence[ToolDefinition]) -> Hook:
    names = [tool.name for tool in tools if any(is_for(hook, name) for name in (tool.name, *_names(tool)))]
    own = {tool.name for tool in tools if is_for(hook, tool.name)}
    if own >= set(names):
        return hook
    return msgspec.structs.replace(hook, matcher="|".join(names))


def _names(tool: ToolDefinition) -> Iterator[str]:
    """Other names of a tool, as they are and in the way in which Claude Code writes them."""
    for name in (*tool.aliases, *tool.parts):
        yield name
        yield "".join(word.title() for word in name.split("_"))
    if "multiedit" in tool.parts:
        yield "MultiEdit"
