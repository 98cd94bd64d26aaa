"""`RemotePlace`: the place of a workspace on a server: its commands, over REST."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..workspaces.asking import (
    CommandList,
    CommandOutput,
    CommandState,
    PlaceState,
    RunCommand,
)
from .transport import Transport, path_of, quoted


class RemotePlace:
    """The place of a workspace; interrupted requests are retried.

    All methods raise the server's errors, `ServerUnreachable`, or a `WorkspaceError`.
    """

    def __init__(self, transport: Transport, name: str, base: str | None = None) -> None:
        """`name` is that of a conversation, or of what is held open at the path `base`."""
        self._transport, self._name = transport, name
        self._base = path_of(name) if base is None else base
        self._own = f"{self._base}/workspace" if base is None else base

    async def start(self, wanted: RunCommand) -> CommandState:
        """Begin a command. Raises `OutcomeUnknown` if the connection broke before the answer came."""
        body = msgspec.json.encode(wanted)
        answer = await self._ask("POST", "/commands", body, repeatable=bool(wanted.id))
        return msgspec.json.decode(answer, type=CommandState)

    async def state(self, command: str) -> CommandState:
        """Return a command as it is now."""
        return msgspec.json.decode(await self._ask("GET", f"/commands/{quoted(command)}"), type=CommandState)

    async def output(self, command: str, after: int, wait: float) -> CommandOutput:
        """Return the pieces of a command's output after one; if there are none, wait for about `wait` seconds."""
        wait = min(wait, self._transport.place.timeout / 2)
        path = f"/commands/{quoted(command)}/output?after={after}&wait={wait}"
        return msgspec.json.decode(await self._ask("GET", path), type=CommandOutput)

    async def stop(self, command: str) -> CommandState:
        """End a command with all that it started."""
        return msgspec.json.decode(await self._ask("POST", f"/commands/{quoted(command)}/stop"), type=CommandState)

    async def commands(self) -> Sequence[CommandState]:
        """Return the commands that run, and the last ones that have ended."""
        return msgspec.json.decode(await self._ask("GET", "/commands"), type=CommandList).items

    async def supports_pause(self) -> bool:
        """Return whether all that runs there can be paused."""
        answer = await self._transport.ask("GET", self._own, name=self._name)
        return msgspec.json.decode(answer, type=PlaceState).supports_pause

    async def pause(self) -> None:
        """Stop all that runs there, until `resume`."""
        await self._transport.ask("POST", f"{self._own}/pause", name=self._name)

    async def resume(self) -> None:
        """Let all that runs there go on."""
        await self._transport.ask("POST", f"{self._own}/resume", name=self._name)

    async def _ask(self, method: str, path: str, body: bytes | None = None, *, repeatable: bool = True) -> bytes:
        return await self._transport.ask(method, self._base + path, body, name=self._name, repeatable=repeatable)
