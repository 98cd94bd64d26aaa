"""REST operations that run commands in a conversation's workspace, beside the agent, and that pause its place."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from starlette.responses import StreamingResponse

from ...workspaces.asking import CommandList, CommandOutput, CommandState, PlaceEnd, PlaceState, RunCommand
from ..principals import Scope
from ..routing import Call, Endpoint
from ..schemas import OutputQuery
from .workspaces import workspace_of

HEARTBEAT = 10.0
"""Seconds without output after which a comment is sent, so that no connection counts as lost."""


async def _place(call: Call[Any, Any]) -> PlaceEnd:
    return (await workspace_of(call)).place


async def start_command(call: Call[RunCommand, None]) -> CommandState:
    """Begin a shell command in the workspace. The model is told of its end in one line."""
    return await (await _place(call)).start(call.body)


async def list_commands(call: Call[None, None]) -> CommandList:
    """Return the commands that run, and the last ones that have ended; older ones are in the log."""
    return CommandList(tuple(await (await _place(call)).commands()))


async def get_command(call: Call[None, None]) -> CommandState:
    """Return a command, with its result once it has ended."""
    return await (await _place(call)).state(call.path("command_id"))


async def stop_command(call: Call[None, None]) -> CommandState:
    """End a command with all that it started; nothing happens if it has ended."""
    return await (await _place(call)).stop(call.path("command_id"))


async def command_output(call: Call[None, OutputQuery]) -> CommandOutput | StreamingResponse:
    """Return the output of a command after a piece, and its result once it has ended; wait if there is none yet.

    With `Accept: text/event-stream` follow it to its end: `output` with a piece each, and `end` with the result.
    """
    place, name, after = await _place(call), call.path("command_id"), call.query.after
    if "text/event-stream" not in call.request.headers.get("accept", ""):
        return await place.output(name, after, call.query.wait)
    await place.state(name)  # while it can still be refused
    last = call.request.headers.get("last-event-id", "")
    sent = _sent(place, name, int(last) if last.isdecimal() else after)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(sent, media_type="text/event-stream", headers=headers)


async def get_workspace(call: Call[None, None]) -> PlaceState:
    """Return where the conversation's tools act."""
    workspace = await workspace_of(call)
    return PlaceState(await workspace.path(), await workspace.supports_pause())


async def pause_workspace(call: Call[None, None]) -> None:
    """Stop all that runs in the place of the workspace, until it is resumed; nothing happens on this machine."""
    await (await _place(call)).pause()


async def resume_workspace(call: Call[None, None]) -> None:
    """Let all that runs in the place of the workspace go on."""
    await (await _place(call)).resume()


async def _sent(place: PlaceEnd, name: str, after: int) -> AsyncGenerator[bytes]:
    """Yield the output of a command as server-sent events."""
    result = None
    while result is None:
        found = await place.output(name, after, HEARTBEAT)
        for piece in found.items:
            after = piece.order
            yield _event("output", piece, piece.order)
        if not found.items:
            yield b": heartbeat\n\n"
        result = found.result
    yield _event("end", result)


def _event(kind: str, data: object, number: int | None = None) -> bytes:
    line = b"" if number is None else f"id: {number}\n".encode()
    return line + f"event: {kind}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"


_GROUP = "workspace"
_BASE = "/conversations/{id}"
_COMMAND = f"{_BASE}/commands/{{command_id}}"

ENDPOINTS = (
    Endpoint(
        "POST",
        f"{_BASE}/commands",
        start_command,
        Scope.EXECUTE,
        "Run a command",
        body=RunCommand,
        reply=CommandState,
        status=201,
        group=_GROUP,
        example={"command": "npm test", "timeout": 600},
    ),
    Endpoint(
        "GET", f"{_BASE}/commands", list_commands, Scope.OBSERVE, "List the commands", reply=CommandList, group=_GROUP
    ),
    Endpoint("GET", _COMMAND, get_command, Scope.OBSERVE, "Get a command", reply=CommandState, group=_GROUP),
    Endpoint(
        "GET",
        f"{_COMMAND}/output",
        command_output,
        Scope.OBSERVE,
        "Follow the output of a command",
        query=OutputQuery,
        reply=CommandOutput,
        media_type=None,
        group=_GROUP,
        headers=("Last-Event-ID",),
    ),
    Endpoint("POST", f"{_COMMAND}/stop", stop_command, Scope.EXECUTE, "End it", reply=CommandState, group=_GROUP),
    Endpoint(
        "GET", f"{_BASE}/workspace", get_workspace, Scope.OBSERVE, "Where tools act", reply=PlaceState, group=_GROUP
    ),
    Endpoint("POST", f"{_BASE}/workspace/pause", pause_workspace, Scope.EXECUTE, "Pause its place", group=_GROUP),
    Endpoint("POST", f"{_BASE}/workspace/resume", resume_workspace, Scope.EXECUTE, "Resume its place", group=_GROUP),
)
