"""Short descriptions of events for other agents, without the details that only a console needs. Pure."""

from __future__ import annotations

from typing import Any

from ...events import (
    ActionEvent,
    AgentErrorEvent,
    ConfirmationRequested,
    ConversationErrorEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    RunEnded,
    UserRejectObservation,
)
from ...specs.content import plain
from ...tools.clipping import clip

LONGEST = 2000
"""Maximum number of characters of one text."""


def told(event: Event) -> dict[str, Any] | None:
    """Return an event in short; None if it is of no interest to the agent that asked for the work."""
    match event:
        case MessageEvent(source=source, content=content):
            said: dict[str, Any] = {"from": source, "text": clip(plain(content), LONGEST)}
        case ActionEvent(tool_name=tool, arguments_json=arguments, id=action):
            said = {"action": action, "tool": tool, "arguments": clip(bytes(arguments).decode(), LONGEST)}
        case ObservationEvent(tool_name=tool, content=content, is_error=failed):
            said = {"tool": tool, "result": clip(plain(content), LONGEST), "failed": failed}
        case AgentErrorEvent(tool_name=tool, error=error):
            said = {"tool": tool, "result": clip(error, LONGEST), "failed": True}
        case UserRejectObservation(tool_name=tool, rejection_reason=reason):
            said = {"tool": tool, "rejected": clip(reason, LONGEST)}
        case ConfirmationRequested(action_ids=actions):
            said = {"waits_for_a_person": list(actions)}
        case ConversationErrorEvent(code=code, detail=detail):
            said = {"error": code, "text": clip(detail, LONGEST)}
        case RunEnded(reason=reason):
            said = {"ended": reason}
        case _:
            return None
    return {"seq": event.seq, "type": type(event).__name__, **said}


def headline(event: Event) -> str:
    """Return an event in one line, for the progress of a call; "" if there is nothing to show."""
    match event:
        case ActionEvent(tool_name=tool, summary=summary):
            return summary or tool
        case MessageEvent(source="agent", content=content):
            return " ".join(plain(content).split())[:200]
        case _:
            return ""
