"""Questions to the person behind an MCP client, by elicitation (MCP 2025-11-25, "Elicitation")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ...controls import AnyControl, Confirm, GiveInput, Reject
from ...decisions import waiting
from ...events import InputRequested
from ...state import Pending, State

if TYPE_CHECKING:
    from mcp_types import ElicitRequest

_WORD = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Approve", "description": "Have them run."},
        "reason": {"type": "string", "title": "Reason", "description": "What the agent is told where you refuse."},
    },
    "required": ["approve"],
}


class Held:
    """The actions that wait for approval: one question for all, so that the answer applies to what was shown."""

    def __init__(self, actions: Sequence[Pending]) -> None:
        self._actions = actions
        self.key = ",".join(self._ids)

    @property
    def _ids(self) -> tuple[str, ...]:
        return tuple(pending.action.id for pending in self._actions)

    def request(self) -> ElicitRequest:
        """Return the question to the person."""
        import mcp_types as types

        lines = (f"{one.action.tool_name}: {bytes(one.action.arguments_json).decode()}" for one in self._actions)
        message = "\n".join(("May the agent do this?", *lines))
        return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=_WORD))

    def control(self, verdict: str, content: Mapping[str, Any]) -> AnyControl | None:
        """Return the control for the answer; None if it has no effect."""
        if verdict != "accept":
            return None
        if content.get("approve") is True:
            return Confirm(action_ids=self._ids)
        return Reject(reason=str(content.get("reason") or "Rejected by the user."), action_ids=self._ids)


class Asked:
    """A question of a running tool: a form to fill in, or an address to open."""

    def __init__(self, asked: InputRequested) -> None:
        self._asked, self.key = asked, asked.id

    def request(self) -> ElicitRequest:
        """Return the question to the person."""
        import mcp_types as types

        message = f"{self._asked.asks}: {self._asked.message}" if self._asked.asks else self._asked.message
        if self._asked.url:
            opened = types.ElicitRequestURLParams(message=message, url=self._asked.url, elicitation_id=self.key)
            return types.ElicitRequest(params=opened)
        form = msgspec.json.decode(self._asked.schema)
        return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=form))

    def control(self, verdict: str, content: Mapping[str, Any]) -> AnyControl | None:
        """Return the control for the answer; None if it has no effect."""
        if verdict == "accept":
            return GiveInput(request_id=self.key, content=dict(content))
        return GiveInput(request_id=self.key, verdict="decline") if verdict == "decline" else None


def questions(state: State) -> list[Held | Asked]:
    """Return all questions that wait for a person."""
    held = waiting(state)
    return [*([Held(held)] if held else []), *map(Asked, state.branch.inputs)]
