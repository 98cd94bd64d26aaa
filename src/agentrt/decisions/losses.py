"""What a sleep or a crash takes away from a conversation, and which actions may depend on it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

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
    return (*_held_here(state), *_tools_of(_calls_of_servers(state)))


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
    name = action.tool_name
    own = [p for p in state.branch.pending if p.action.tool_name == name]
    if not any(p.action.id == action.id and (p.approved or p.risk is not None) for p in own):
        return None
    revoked = [p.action.id for p in own if p.command is None or p.action.id == action.id]
    gone = _GIVEN_UP if name in _holders(state) else _SERVER
    return replace(_restarted(name, gone, revoked, "had ended meanwhile and was restarted"), caused_by=action.id)


def server_restarted(state: State, server: str) -> tuple[Event, ...]:
    """Return what is logged when the process of an MCP server was replaced by another one."""
    own = [p for p in _calls_of_servers(state) if state.ledger.names[p.action.tool_name][0] == server]
    return tuple(
        _restarted(name, _SERVER, [p.action.id for p in own if p.action.tool_name == name]) for name in _tools_of(own)
    )


def _lost(state: State, gone: str) -> Iterator[ResourceLost]:
    servers = list(_calls_of_servers(state))
    here, remote = _held_here(state), _tools_of(servers)
    if not (here or remote):
        return
    holders = _holders(state)  # one may have opened what others use
    depend = [p for p in state.branch.pending if p.command is None and p.action.tool_name in holders]
    revoked = [p.action.id for p in (*depend, *servers)]
    yield from (_restarted(name, gone, revoked) for name in here)
    yield from (_restarted(name, _SERVER, revoked) for name in remote)


def _restarted(name: str, gone: str, revoked: Sequence[str], how: str = "was restarted") -> ResourceLost:
    """Return the event that tells the model `how` a tool has lost what is `gone`, and takes approvals back."""
    return ResourceLost(tool_name=name, detail=f"The {name} {how}: {gone}.", revoked=tuple(revoked))


def _holders(state: State) -> set[str]:
    """Return the tools that hold a shell, a kernel or a browser once they are used."""
    return {tool.name for tool in state.tools if tool.holds_resource}


def _held_here(state: State) -> list[str]:
    """Return those of them that were used."""
    used = state.ledger.used_tools
    return sorted(used & _holders(state)) if used else []


def _tools_of(calls: Iterable[Pending]) -> list[str]:
    return sorted({p.action.tool_name for p in calls})


def _calls_of_servers(state: State) -> Iterator[Pending]:
    """Yield the actions that a person was asked about, and whose MCP server is a process of this conversation."""
    for p in state.branch.pending:
        if p.command is None and (p.approved or (p.held and not p.outdated)) and state.servers:
            server, _ = state.ledger.names.get(p.action.tool_name, ("", ""))
            found = state.spec.mcp_servers.get(server)
            if found is not None and found.command and not found.shared:
                yield p
