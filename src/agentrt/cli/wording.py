"""Plain words for the JSON and the codes in events. Pure."""

from __future__ import annotations

import contextlib
import re

import msgspec

from ..events import ActionEvent, Condensation
from ..specs import ToolDefinition
from ..specs.flow import Label, Sink
from ..specs.headlines import change_of, headline_of

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

SHOWN = 160
"""Characters of an action's arguments on its line, if the tool has no words of its own."""

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
    """Return text without control characters, so that no output of a tool or model can control the terminal.

    Characters that change the direction of writing are also removed: they could make a command look like another one.
    """
    return _CONTROL.sub("", text)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the singular or the plural."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def money(cost: float, unpriced: int) -> str:
    """Return the cost, as far as it is known."""
    if unpriced == 0:
        return f"${cost:.4f}"
    return f"${cost:.4f} and {unpriced} calls of unknown price" if cost else "price unknown"


def condensed(event: Condensation) -> str:
    """Return what a condensation removed from the view."""
    gone = [count(len(event.forgotten_event_ids), "event")] if event.forgotten_event_ids else []
    hidden = [f"the output of {count(len(event.masked_event_ids), 'result')}"] if event.masked_event_ids else []
    if not gone and not hidden:
        return "nothing left the model's view"
    sizes = f" ({event.tokens_before:,} → {event.tokens_after:,} tokens)" if event.tokens_before else ""
    return f"{' and '.join((*gone, *hidden))} left the model's view{sizes}"


def headline(action: ActionEvent, tool: ToolDefinition | None = None, most: int = SHOWN) -> str:
    """Return an action as one line, as its tool declares; `most` is the number of characters of its arguments if no
    template of the tool fits and they are shown as sent.
    """
    if action.malformed is None and tool is not None:
        with contextlib.suppress(msgspec.DecodeError):
            arguments = msgspec.json.decode(action.arguments_json, type=dict[str, object])
            if (found := headline_of(tool.headline, arguments)) is not None:
                return found
    return as_sent(action, most)


def proposed(action: ActionEvent, tool: ToolDefinition) -> list[str]:
    """Return the lines that an action would take out of a file ("-") and put into it ("+"), as its tool declares."""
    if action.malformed is not None or tool.edits is None:
        return []
    try:
        return change_of(tool.edits, msgspec.json.decode(action.arguments_json, type=dict[str, object]))
    except msgspec.DecodeError:
        return []


def as_sent(action: ActionEvent, most: int = SHOWN) -> str:
    """Return an action's arguments on one line, as the model sent them."""
    sent = bytes(action.arguments_json).decode() if action.malformed is None else action.malformed
    shown = " ".join(sent.split())
    return shown if len(shown) <= most else shown[:most] + "…"


def why_asked(code: str, detail: str = "") -> str:
    """Return why a person is asked, from the code of `ConfirmationRequested`; `detail` is a hook's or a rule's text."""
    more = f": {detail}" if detail else ""
    match code:
        case "risk" | "":
            return "because of its risk"
        case "every":
            return "because every action is asked about"
        case "rule":
            return f"because a rule says so{more}"
        case "hook":
            return f"because a hook says so{more}"
        case "changed":
            return "because the tool says something else of itself than when it was first seen"
        case "unconfined":
            return "because it leaves what confines the other commands"
    kind, _, flow = code.partition(":")
    if kind == "lost":
        return f"again, because the {flow} was restarted: its variables, directory and running processes are gone"
    cause, _, sink = flow.partition(">")
    if kind != "flow":
        return f"because of {code}{more}"
    effect = next((words for known, words in _EFFECTS.items() if known == sink), "nobody can say where it leads")
    content = next((words for known, words in _CAUSES.items() if known == cause), f"content from {cause!r}")
    return f"because {content} may have caused it, and {effect}"
