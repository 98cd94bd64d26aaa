"""What a sleep or a crash takes away from a conversation, and which actions may depend on it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ..events import ActionEvent, Event, ResourceLost
from ..state import Pending, State

_GIVEN_UP = "its variables, directory and running processes are gone"
_ENDED = (
    "its variables and directory are gone, and the processes that it had started were ended, as far as they could be"
    " found"
)
_STILL_RUNNING = "its variables and directory are gone. What it had started may still run: look before you start more"
_SERVER = "what it held in memory is gone"


def held_resources(state: State) -> tuple[str, ...]:
    """Return the tools that hold a resource in memory for the conversation: a shell, a kernel, a browser, or the
    process of an MCP server whose call a person has approved or is asked about.
    """
    used = state.ledger.used_tools
    own = {tool.name for tool in state.tools if tool.holds_resource and tool.name in used} if used else set[str]()
    return (*sorted(own), *sorted({p.action.tool_name for p in _calls_of_servers(state)}))


def asleep(state: State) -> tuple[Event, ...]:
    """Return what the model is told when a conversation leaves memory, or has lost it: its tools' state is gone."""
    return tuple(_lost(state, _GIVEN_UP))


def left_by_crash(state: State, *, ended: bool) -> tuple[Event, ...]:
    """Return the same after a crash; `ended` says whether the processes that were left have been ended since."""
    return tuple(_lost(state, _ENDED if ended else _STILL_RUNNING))


def lost_meanwhile(state: State, action: ActionEvent) -> ResourceLost | None:
    """Return the outcome of an action that would begin, and that finds that the process of its tool has ended since it
    was rated or approved. None if nobody rated or approved it.
    """
    own = [p for p in state.branch.pending if p.action.tool_name == action.tool_name]
    if not any(p.action.id == action.id and (p.approved or p.risk is not None) for p in own):
        return None
    revoked = tuple(p.action.id for p in own if p.command is None or p.action.id == action.id)
    return ResourceLost(
        tool_name=action.tool_name,
        detail=f"The {action.tool_name} had ended meanwhile and was restarted: {_GIVEN_UP}.",
        revoked=revoked,
        caused_by=action.id,
    )


def server_restarted(state: State, server: str) -> tuple[Event, ...]:
    """Return what is logged when the process of an MCP server was replaced by another one."""
    own = [p for p in _calls_of_servers(state) if state.ledger.names[p.action.tool_name][0] == server]
    return tuple(
        ResourceLost(tool_name=name, detail=f"The {name} was restarted: {_SERVER}.", revoked=tuple(ids))
        for name in sorted({p.action.tool_name for p in own})
        if (ids := [p.action.id for p in own if p.action.tool_name == name])
    )


def _lost(state: State, how: str) -> Iterator[ResourceLost]:
    servers = list(_calls_of_servers(state))
    if held := held_resources(state):
        holders = {tool.name for tool in state.tools if tool.holds_resource}  # one may have opened what others use
        depend = (p for p in state.branch.pending if p.command is None and p.action.tool_name in holders)
        revoked = tuple(p.action.id for p in (*depend, *servers))
        remote = {p.action.tool_name for p in servers}
        for name in held:
            yield ResourceLost(
                tool_name=name,
                detail=f"The {name} was restarted: {_SERVER if name in remote else how}.",
                revoked=revoked,
            )


def _calls_of_servers(state: State) -> Iterator[Pending]:
    """Yield the actions that a person was asked about, and whose MCP server is a process of this conversation."""
    for p in state.branch.pending:
        if p.command is None and (p.approved or (p.held and not p.outdated)) and state.servers:
            server, _ = state.ledger.names.get(p.action.tool_name, ("", ""))
            found = state.spec.mcp_servers.get(server)
            if found is not None and found.command and not found.shared:
                yield p
