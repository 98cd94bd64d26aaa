"""Hooks: what is asked, or told, before and after what an agent does."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec


class HookEvent(StrEnum):
    """When a hook runs."""

    BEFORE_TOOL = "before_tool"
    """Before an action is rated and run; it may allow, deny, ask a person, or rewrite the arguments."""
    AFTER_TOOL = "after_tool"
    """After an action has its result; what it says is told to the model."""
    USER_MESSAGE = "user_message"
    """Before the model sees what a user said; it may deny it, or add to it."""
    START = "start"
    """Before the first model call since the conversation was opened; what it says is told to the model."""
    STOP = "stop"
    """When the agent is about to finish; it may deny that, with a reason for the agent."""
    END = "end"
    """When the conversation leaves memory; nothing can be changed any more."""


OnFailure: TypeAlias = Literal["deny", "ignore"]


class Hook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hook: a shell `command` that gets JSON on its standard input, or a `function` that the runtime has by name.

    `matcher` is held against the tool's name, for the events of tools: "*", a name, or a regular expression that
    matches the whole of it. A hook that fails or takes longer than `timeout` seconds denies what it was asked about,
    unless `on_failure` is "ignore".
    """

    event: HookEvent
    command: str | None = None
    function: str | None = None
    matcher: str = "*"
    timeout: float = 60.0
    on_failure: OnFailure = "deny"

    def __post_init__(self) -> None:
        if (self.command is None) == (self.function is None):
            raise ValueError("a Hook has either a command or a function")
