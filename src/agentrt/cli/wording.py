"""Plain words for what stands in events as JSON and codes. Pure."""

from __future__ import annotations

import re

import msgspec

from ..events import ActionEvent
from ..specs.flow import Label, Sink

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

SHOWN = 160
"""Characters of an action's arguments that stand on its line, where the tool has no words of its own."""

_CAUSES: dict[Label, str] = {
    "web": "what the agent read on the web",
    "mcp": "what an MCP server said",
    "outside": "what stands in a file from outside of the workspace",
}
_EFFECTS: dict[Sink, str] = {
    "network": "it reaches the network",
    "secrets": "it reads or uses a secret",
    "push": "it publishes something",
    "outside": "it writes outside of the workspace",
}


def clean(text: str) -> str:
    """Text without control characters, so that no output of a tool or model can steer the terminal.

    Those that turn the direction of writing go as well: they would show a command as another one.
    """
    return _CONTROL.sub("", text)


def count(number: int, noun: str) -> str:
    """So many things."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def money(cost: float, unpriced: int) -> str:
    """What was spent, as far as it is known."""
    if unpriced == 0:
        return f"${cost:.4f}"
    return f"${cost:.4f} and {unpriced} calls of unknown price" if cost else "price unknown"


class _Running(msgspec.Struct):
    command: str


class _Thinking(msgspec.Struct):
    thought: str


class _Finishing(msgspec.Struct):
    message: str


class _Editing(msgspec.Struct):
    command: str
    path: str


class _Delegating(msgspec.Struct):
    task: str
    agent: str = ""


def headline(action: ActionEvent, most: int = SHOWN) -> str:
    """An action's arguments on a line; `most` characters of them where they are shown as they were sent: those of
    other tools, and what does not fit.
    """
    if action.malformed is not None:
        return as_sent(action, most)
    try:
        match action.tool_name:
            case "terminal":
                command = msgspec.json.decode(action.arguments, type=_Running).command
                return f"$ {command}" if command else "(waits for more output)"
            case "file_editor":
                edit = msgspec.json.decode(action.arguments, type=_Editing)
                return f"{edit.command} {edit.path}"
            case "delegate":
                given = msgspec.json.decode(action.arguments, type=_Delegating)
                return f"to {given.agent}: {given.task}" if given.agent else given.task
            case "think":
                return msgspec.json.decode(action.arguments, type=_Thinking).thought
            case "finish":
                return msgspec.json.decode(action.arguments, type=_Finishing).message
    except msgspec.ValidationError:
        pass
    return as_sent(action, most)


def as_sent(action: ActionEvent, most: int = SHOWN) -> str:
    """An action's arguments as the model sent them, on a line."""
    sent = bytes(action.arguments).decode() if action.malformed is None else action.malformed
    shown = " ".join(sent.split())
    return shown if len(shown) <= most else shown[:most] + "…"


def why_asked(code: str, detail: str = "") -> str:
    """Why a person is asked, after the code of `ConfirmationRequested`; `detail` is what a hook or a rule says."""
    more = f": {detail}" if detail else ""
    match code:
        case "risk" | "":
            return "because of its risk"
        case "rule":
            return f"because a rule says so{more}"
        case "hook":
            return f"because a hook says so{more}"
    kind, _, flow = code.partition(":")
    cause, _, sink = flow.partition(">")
    if kind != "flow":
        return f"because of {code}{more}"
    effect = next((words for known, words in _EFFECTS.items() if known == sink), "nobody can say where it leads")
    content = next((words for known, words in _CAUSES.items() if known == cause), f"content from {cause!r}")
    return f"because {content} may have caused it, and {effect}"
