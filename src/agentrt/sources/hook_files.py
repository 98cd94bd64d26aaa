"""Hooks in files: `hooks.json` of a project or a plugin, in the form that Claude Code and OpenHands read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ConfigurationError
from ..specs.hooks import Hook, HookEvent
from .text import Reader

FILES = (".agents/hooks.json", ".openhands/hooks.json")
"""Those of a project, below its workspace; the first one that is there counts."""

_EVENTS = {
    "pretooluse": HookEvent.BEFORE_TOOL,
    "posttooluse": HookEvent.AFTER_TOOL,
    "userpromptsubmit": HookEvent.USER_MESSAGE,
    "sessionstart": HookEvent.START,
    "sessionend": HookEvent.END,
    "stop": HookEvent.STOP,
    **{event.value.replace("_", ""): event for event in HookEvent},
}


class _Entry(msgspec.Struct):
    type: str = "command"
    command: str | None = None
    prompt: str | None = None
    timeout: float = 60.0
    model: str | None = None
    on_failure: str | None = None
    max_iterations: int = 3


class _Group(msgspec.Struct):
    matcher: str | None = None
    hooks: list[_Entry] = msgspec.field(default_factory=list)


def read_hooks(path: Path, reader: Reader, root: str = "") -> tuple[Hook, ...]:
    """The hooks of a file; none, and a problem, where it cannot be used."""
    text = reader.read(path)
    if text is None:
        return ()
    try:
        return hooks_of(msgspec.json.decode(text), lambda what: reader.tell(path, what), root)
    except (ConfigurationError, msgspec.DecodeError, msgspec.ValidationError) as error:
        reader.tell(path, f"its hooks cannot be used: {error}")
        return ()


def hooks_of(given: Any, tell: Callable[[str], None], root: str = "") -> tuple[Hook, ...]:
    """The hooks in a mapping of events to groups, or in one with that as `hooks`; `root` is the plugin's directory.

    Raises `ConfigurationError` or `msgspec.ValidationError` for what cannot be.
    """
    inner = given.get("hooks") if isinstance(given, dict) else None
    groups = msgspec.convert(inner if isinstance(inner, dict) else given or {}, dict[str, list[_Group]])
    return tuple(_hooks(groups, tell, root))


def _hooks(groups: dict[str, list[_Group]], tell: Callable[[str], None], root: str) -> Iterator[Hook]:
    for name, entries in groups.items():
        event = _EVENTS.get(name.replace("_", "").lower())
        if event is None:
            tell(f"there is no event {name!r}: its hooks were passed over")
            continue
        for group in entries:
            for entry in group.hooks:
                yield _hook(entry, event, group.matcher or "*", root)


def _hook(entry: _Entry, event: HookEvent, matcher: str, root: str) -> Hook:
    """One that guards a tool denies when it fails, as hooks do here; others are not in the way then."""
    failure: Any = entry.on_failure or ("deny" if event is HookEvent.BEFORE_TOOL else "ignore")
    common: dict[str, Any] = {"event": event, "matcher": matcher, "timeout": entry.timeout, "on_failure": failure}
    match entry.type:
        case "command":
            return Hook(command=entry.command, root=root, **common)
        case "prompt":
            return Hook(prompt=entry.prompt, model=entry.model, **common)
        case "agent":
            return Hook(agent=entry.prompt, model=entry.model, max_steps=entry.max_iterations, **common)
        case other:
            raise ConfigurationError(f"a hook is of type command, prompt or agent, not {other!r}")
