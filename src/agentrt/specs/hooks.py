"""Hooks: checks and notifications before and after an agent's actions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Literal, TypeAlias

import msgspec

from ..errors import ConfigurationError
from .given import Given


class HookEvent(StrEnum):
    """The point at which a hook runs."""

    BEFORE_TOOL = "before_tool"
    """Before an action is rated and run; the hook may allow, deny, ask a person, or rewrite the arguments."""
    AFTER_TOOL = "after_tool"
    """After an action has its result; the hook's output is shown to the model."""
    USER_MESSAGE = "user_message"
    """Before the model sees a user's message; the hook may deny it, or add to it."""
    START = "start"
    """Before the first model call since the conversation was opened; the hook's output is shown to the model."""
    STOP = "stop"
    """When the agent is about to finish; the hook may deny that, with a reason for the agent."""
    END = "end"
    """When the conversation leaves memory; the hook cannot change anything any more."""


OnFailure: TypeAlias = Literal["deny", "ignore"]


class Hook(Given, frozen=True, kw_only=True, omit_defaults=True):
    """A hook: a shell `command` that gets JSON on its standard input, a `function` that the runtime has by name, a
    `prompt` for a model, or an `agent`: the task of an agent that investigates on its own.

    `matcher` selects tools by name, for tool events: "*" or "" for all, a name, or a regular expression that matches
    the whole name, optionally between slashes. A hook that fails or takes longer than `timeout` seconds denies the
    event, unless `on_failure` is "ignore". Raises `ConfigurationError` for invalid values.
    """

    event: HookEvent
    command: str | None = None
    function: str | None = None
    prompt: str | None = None
    """The prompt for a model. "$ARGUMENTS" in it stands for the hook's input; without it, the input is appended."""
    agent: str | None = None
    """The task for an agent, with "$ARGUMENTS" as in `prompt`; the agent has read-only access."""
    model: str | None = None
    """The model for `prompt` and `agent`; None: the agent's own."""
    max_steps: int = 3
    """The most model calls of `agent`."""
    matcher: str = "*"
    timeout: float = 60.0
    on_failure: OnFailure = "deny"
    confined: bool | None = None
    """Whether its command is behind the wall of a workspace that confines, as the agent's commands are. None: yes,
    unless a plugin brought it that is elsewhere, or it is one program by its absolute path that is neither of the
    system nor in the workspace.
    """
    pinned: tuple[tuple[str, str], ...] = ()
    """The workspace files that the command names, relative to the workspace, each with its SHA-256 in hex. A
    conversation records them when it takes the hook; the hook denies once one of them has changed.
    """
    root: str = ""
    """The directory of the plugin or the project that brought the hook; a plugin's command gets it as
    CLAUDE_PLUGIN_ROOT.
    """

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        kinds = [kind for kind in (self.command, self.function, self.prompt, self.agent) if kind is not None]
        if len(kinds) != 1:
            raise ConfigurationError("a Hook has either a command or a function, a prompt or an agent")
        if not kinds[0].strip():
            raise ConfigurationError("a Hook's command or function is empty: give one")
        if self.max_steps < 1:
            raise ConfigurationError(f"a Hook's max_steps must be 1 or more, not {self.max_steps}")
        if not 0 < self.timeout < math.inf:
            raise ConfigurationError(f"a Hook's timeout must be more than 0 seconds, not {self.timeout}")
        try:
            _pattern(self.matcher)
        except (re.error, OverflowError, RecursionError) as error:
            raise ConfigurationError(
                f"matcher {self.matcher!r} is not a regular expression ({error}): write '*' for every tool, a tool's"
                " name, or an expression for the whole name as 'file_.*|terminal'"
            ) from error


def hooks_for(hooks: Sequence[Hook], event: HookEvent, tool_name: str = "") -> tuple[Hook, ...]:
    """Return the hooks for an event and, if the event has one, for that tool."""
    return tuple(hook for hook in hooks if hook.event is event and is_for(hook, tool_name)) if hooks else ()


def is_for(hook: Hook, tool_name: str) -> bool:
    """Return whether a hook applies to a tool; hooks of other events than tool events always apply."""
    if hook.event not in (HookEvent.BEFORE_TOOL, HookEvent.AFTER_TOOL) or hook.matcher in ("*", "", tool_name):
        return True
    return _pattern(hook.matcher).fullmatch(tool_name) is not None


def _pattern(matcher: str) -> re.Pattern[str]:
    between_slashes = len(matcher) > 2 and matcher[0] == matcher[-1] == "/"
    return re.compile("" if matcher == "*" else matcher[1:-1] if between_slashes else matcher)


_EVENTS = {
    "pretooluse": HookEvent.BEFORE_TOOL,
    "posttooluse": HookEvent.AFTER_TOOL,
    "userpromptsubmit": HookEvent.USER_MESSAGE,
    "sessionstart": HookEvent.START,
    "sessionend": HookEvent.END,
} | {event.replace("_", ""): event for event in HookEvent}


class _Entry(msgspec.Struct, forbid_unknown_fields=True, rename={"background": "async", "status": "statusMessage"}):
    """An entry of a hooks file. Unknown fields are refused: a lost condition could let the hook run wrongly."""

    type: str = "command"
    command: str = ""
    prompt: str = ""
    model: str | None = None
    max_iterations: int = 3
    timeout: float = 60.0
    on_failure: OnFailure = "deny"
    background: bool = False
    name: str = ""
    description: str = ""
    status: str = ""


_KINDS = ("command", "prompt", "agent")


class _Group(msgspec.Struct):
    hooks: list[dict[str, Any]]
    matcher: str = "*"


def hooks_from_json(data: object, tell: Callable[[str], None] | None = None) -> tuple[Hook, ...]:
    """Return the hooks of a decoded hooks.json: `{"PreToolUse": [{"matcher": "...", "hooks": [{"command": "..."}]}]}`.

    Events are named as in Claude Code (also with underscores, pre_tool_use) or as in `HookEvent`. Everything may be
    below a key "hooks", beside other keys. Raises `ValueError` for another form, and for a hook that cannot run; with
    `tell`, calls it for such a hook and goes on.
    """
    inner = data["hooks"] if isinstance(data, dict) and "hooks" in data else data
    found: list[Hook] = []
    for name, groups in msgspec.convert(inner, dict[str, list[_Group]]).items():
        try:
            event = _event(name)
        except ValueError as error:
            _leave_out(error, tell)
            continue
        for matcher, given in ((group.matcher, given) for group in groups for given in group.hooks):
            try:
                found.append(_hook(event, matcher, given))
            except ValueError as error:
                _leave_out(error, tell)
    return tuple(found)


def _leave_out(error: ValueError, tell: Callable[[str], None] | None) -> None:
    if tell is None:
        raise error
    tell(f"a hook is left out: {error}")


def _event(name: str) -> HookEvent:
    event = _EVENTS.get(name.replace("_", "").lower())
    if event is None:
        raise ValueError(f"no hooks run at {name!r}: hooks run at {', '.join(HookEvent)}")
    return event


def _hook(event: HookEvent, matcher: str, given: dict[str, Any]) -> Hook:
    kind = given.get("type", "command")
    if kind not in _KINDS:
        raise ValueError(
            f"a hook of type {kind!r} cannot be run: write a {', '.join(_KINDS)}, or a Python function as"
            " Hook(function=...)"
        )
    read = msgspec.convert(given, _Entry)
    if read.background:
        raise ValueError(f"hook {read.command!r} is async, but hooks always run synchronously: remove 'async'")
    return Hook(
        event=event,
        matcher=matcher or "*",
        timeout=read.timeout,
        on_failure=read.on_failure,
        model=read.model,
        max_steps=read.max_iterations,
        command=read.command if kind == "command" else None,
        prompt=read.prompt if kind == "prompt" else None,
        agent=read.prompt if kind == "agent" else None,
    )
