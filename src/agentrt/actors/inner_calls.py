"""`InnerCalls`: calls of tools from the code that a tool runs, each an action of its own in the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ..context.replies import BadCall, Toolbox
from ..errors import EventRefused, ToolError
from ..events import ActionEvent, AgentErrorEvent, ObservationEvent, UserRejectObservation
from ..executing import Made
from ..ids import new_id
from ..state import Inner, Seen, State
from .event_log import Log

MOST_CALLS = 1000
"""Maximum number of calls that one action makes."""


class InnerCalls:
    """The calls of one action, which gets the results; see `Calls`."""

    def __init__(self, log: Log, toolbox: Toolbox, tool: str, action: str, *, resumed: bool) -> None:
        self._log, self._toolbox, self._tool, self._action = log, toolbox, tool, action
        self._resumed = resumed

    @property
    def resumed(self) -> bool:
        """Whether the action was begun before."""
        return self._resumed

    @property
    def names(self) -> tuple[str, ...]:
        """The agent's tools, except those that end its turn or invoke skills, deferred tools that were not found, and
        the tool that runs the code.
        """
        state = self._log.state
        hidden = {name for name, found in state.deferred.items() if not found}
        return tuple(
            tool.name
            for tool in self._toolbox.known
            if not tool.ends_turn and not tool.invokes and tool.name != self._tool and tool.name not in hidden
        )

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Made:
        """Append a call, wait for its result and return both. Raise `ToolError`."""
        if tool not in self.names:
            raise ToolError(f"unknown tool {tool!r}; tools to call here: {', '.join(self.names) or 'none'}")
        if sum(1 for _ in self._own(self._log.state)) >= MOST_CALLS:
            raise ToolError(f"{MOST_CALLS} calls were made, the most that one action makes")
        try:
            given = msgspec.Raw(msgspec.json.encode(dict(arguments)))
            resources = self._toolbox.resources(tool, given)
        except (BadCall, TypeError, OverflowError) as error:
            raise ToolError(str(error)) from error
        name = new_id()
        action = ActionEvent(
            id=name,
            source="agent",
            tool_name=tool,
            tool_call_id=name,
            arguments_json=given,
            llm_response_id=self._action,
            resources=resources,
            summary=f"A call from {self._tool}",
            within=self._action,
            caused_by=self._action,
        )
        try:
            await self._log.append(action)
        except EventRefused as late:
            raise ToolError(f"{tool} was not called: {late}") from late
        state = await self._log.wait_for(lambda state: all(p.action.id != name for p in state.branch.pending))
        inner = next((one for one in self._own(state) if one.id == name and one.result), None)
        if inner is None:
            raise ToolError(f"{tool} has no result: the conversation has ended")
        return await self._made(inner)

    async def made(self) -> Sequence[Made]:
        """Return the calls, once each has its result."""
        state = await self._log.wait_for(
            lambda state: all(p.action.within != self._action for p in state.branch.pending)
        )
        return [await self._made(inner) for inner in self._own(state) if inner.result]

    def _own(self, state: State) -> Iterator[Inner]:
        return (inner for inner in state.branch.inner if inner.within == self._action)

    async def _made(self, inner: Inner) -> Made:
        action, result = await self._log.load([Seen(inner.seq, "", ""), Seen(inner.result, "", "")])
        assert isinstance(action, ActionEvent)
        assert isinstance(result, ObservationEvent | UserRejectObservation | AgentErrorEvent)
        return Made(action, result)
