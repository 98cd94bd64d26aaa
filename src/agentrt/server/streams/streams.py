"""`Streams`: all who follow conversations of one server, and the relays that they share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Protocol

import anyio
from anyio.abc import TaskGroup
from starlette.websockets import WebSocket, WebSocketState

from ...events import Cursor
from ...pacing import Pace
from ...state import seq_of
from ..hosting import Hosting
from ..permissions import require
from ..principals import Principal, Scope
from ..problems import refusal
from ..settings import ServerSettings
from .bell import AT_ONCE, Bell, not_at_once
from .codes import GOING_AWAY, Closing
from .follower import Follower
from .relay import Relay

LOOKS = 4
"""How often a stream is looked at within its heartbeat."""

SERVER = Principal(owner=None, scopes=frozenset({Scope.ADMIN}))
"""On whose behalf a relay reads: who may follow it was asked before."""

GOING = Closing(GOING_AWAY, "the server goes away: come again, with your cursors")


class Stream(Protocol):
    """A connection on which conversations are followed."""

    def look(self, now: float) -> None:
        """Whether it makes progress; `now` is of `time.monotonic`."""
        ...

    def close(self, closing: Closing) -> None:
        """Let it end."""
        ...


class Streams:
    """All who follow conversations of one server; an async context manager.

    A conversation has a relay while someone follows it.
    """

    def __init__(self, hosting: Hosting, settings: ServerSettings) -> None:
        self.settings, self._hosting = settings, hosting
        self.pace = Pace(AT_ONCE)
        self._relays: dict[str, Relay] = {}
        self._streams: dict[Stream, None] = {}
        self._draining = False
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Streams:
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(self._watch)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._tasks is not None
        self.drain()
        tasks, self._tasks = self._tasks, None
        tasks.cancel_scope.cancel()
        return await tasks.__aexit__(kind, error, trace)

    @property
    def count(self) -> int:
        """How many streams there are."""
        return len(self._streams)

    @property
    def relays(self) -> int:
        """How many conversations are followed."""
        return len(self._relays)

    def follows(self, conversation_id: str) -> bool:
        """Whether someone follows a conversation."""
        return conversation_id in self._relays

    def bell(self, at_once: Callable[[], bool] = not_at_once) -> Bell:
        """What wakes a stream, unless it could do `at_once` what there was to do."""
        return Bell(self.pace, at_once)

    def add(self, stream: Stream) -> None:
        """Note a stream. Raises `Refusal` when there are too many, or the server goes away."""
        if self._draining:
            raise refusal(503, "The server goes away", "come again", "draining")
        if len(self._streams) >= self.settings.max_streams:
            raise refusal(429, "Too many streams", f"this server takes {self.settings.max_streams}", "streams")
        self._streams[stream] = None

    def remove(self, stream: Stream) -> None:
        """Forget a stream."""
        self._streams.pop(stream, None)

    def drain(self) -> None:
        """Let every stream end, and take no more: the server goes away."""
        self._draining = True
        for stream in list(self._streams):
            stream.close(GOING)

    def discard(self, websocket: WebSocket) -> None:
        """Read what still comes of a socket that was closed, and look at nothing of it.

        Hypercorn puts it in a bounded queue, and a full one that nobody reads would keep the connection for ever.
        """
        if self._tasks is not None:  # else the server goes, and its connections with it
            self._tasks.start_soon(self._discard, websocket)

    async def _discard(self, websocket: WebSocket) -> None:
        with anyio.move_on_after(2 * self.settings.patience):
            while websocket.client_state is WebSocketState.CONNECTED:
                await websocket.receive()

    async def follow(
        self,
        conversation_id: str,
        principal: Principal,
        after: Cursor,
        news: Callable[[Follower], None],
        *,
        deltas: bool,
    ) -> Follower:
        """Someone who follows a conversation from a cursor on. Raises `Refusal`, `CursorExpired`, and what opening it
        does.
        """
        require(principal, Scope.OBSERVE)
        conversation = await self._hosting.get(conversation_id, principal)
        seq = seq_of(after, conversation.state)
        relay = self._relays.get(conversation_id)
        if relay is None or relay.conversation is not conversation:
            assert self._tasks is not None
            relay = self._relays[conversation_id] = Relay(conversation)
            self._tasks.start_soon(self._run, conversation_id, relay)
        return relay.join(seq, news, deltas=deltas)

    def leave(self, follower: Follower) -> None:
        """He follows no more; nobody reads what nobody follows."""
        relay = follower.relay
        relay.leave(follower)
        if not relay.followers:
            relay.scope.cancel()
            self._forget(relay.conversation.id, relay)

    async def _run(self, conversation_id: str, relay: Relay) -> None:
        await relay.run(partial(self._hosting.get, principal=SERVER))
        self._forget(conversation_id, relay)

    def _forget(self, conversation_id: str, relay: Relay) -> None:
        if self._relays.get(conversation_id) is relay:
            del self._relays[conversation_id]

    async def _watch(self) -> None:
        """Look at every stream from time to time."""
        every = min(self.settings.heartbeat, self.settings.patience) / LOOKS
        while True:
            await asyncio.sleep(every)
            now = time.monotonic()
            for stream in list(self._streams):
                stream.look(now)
