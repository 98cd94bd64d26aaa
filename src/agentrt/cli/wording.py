"""Plain words for what stands in events as JSON and codes. Pure."""

from __future__ import annotations

import contextlib
import re

import msgspec

from ..events import ActionEvent, Condensation
from ..specs import ToolDefinition
from ..specs.flow import Label, Sink
from ..specs.headlines import headline_of

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


def condensed(event: Condensation) -> str:
    """What a condensation took out of the view."""
    gone = [count(len(event.forgotten_event_ids), "event")] if event.forgotten_event_ids else []
    hidden = [f"the output of {count(len(event.masked_event_ids), 'result')}"] if event.masked_event_ids else []
    if not gone and not hidden:
        return "nothing left the model's view"
    sizes = f" ({event.tokens_before:,} → {event.tokens_after:,} tokens)" if event.tokens_before else ""
    return f"{' and '.join((*gone, *hidden))} left the model's view{sizes}"


def headline(action: ActionEvent, tool: ToolDefinition | None = None, most: int = SHOWN) -> str:
    """An action on a line, as its tool declares; `most` characters of its arguments where they are shown as they were
    sent: those that no template of the tool fits.
    """
    if action.malformed is None and tool is not None:
        with contextlib.suppress(msgspec.DecodeError):
            arguments = msgspec.json.decode(action.arguments, type=dict[str, object])
            if (found := headline_of(tool.headline, arguments)) is not None:
                return found
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
        case "changed":
            return "because the tool says something else of itself than when it was first seen"
    kind, _, flow = code.partition(":")
    cause, _, sink = flow.partition(">")
    if kind != "flow":
        return f"because of {code}{more}"
    effect = next((words for known, words in _EFFECTS.items() if known == sink), "nobody can say where it leads")
    content = next((words for known, words in _CAUSES.items() if known == cause), f"content from {cause!r}")
    return f"because {content} may have caused it, and {effect}"
