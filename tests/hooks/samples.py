"""Hooks and what they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from agentrt.hooks import HookInput
from agentrt.specs.hooks import Hook, HookEvent


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def before(folder: Path | str = "/", **fields: Any) -> HookInput:
    """What a hook is given before a tool; other fields as named."""
    return HookInput(
        **{
            "event_type": HookEvent.BEFORE_TOOL,
            "session_id": "c-1",
            "working_dir": str(folder),
            "tool_name": "terminal",
            "tool_input": raw({"command": "ls"}),
        }
        | fields
    )


def at(event: HookEvent, folder: Path | str = "/", **fields: Any) -> HookInput:
    """What a hook of an event without a tool is given."""
    return HookInput(event_type=event, session_id="c-1", working_dir=str(folder), **fields)


def shell(command: str, event: HookEvent = HookEvent.BEFORE_TOOL, **fields: Any) -> Hook:
    return Hook(event=event, command=command, **{"timeout": 30.0} | fields)


def python(name: str, event: HookEvent = HookEvent.BEFORE_TOOL, **fields: Any) -> Hook:
    return Hook(event=event, function=name, **{"timeout": 30.0} | fields)
