"""`Streams`: the followers of one server's conversations, and the relays that they share."""

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
"""How often a stream is checked within its heartbeat or its patience, whichever is shorter."""

SERVER = Principal(owner=None, scopes=frozenset({Scope.ADMIN}))
"""The principal of relays: the followers' permissions were checked before."""

GOING = Closing(GOING_AWAY, "the server goes away: come again, with your cursors")


class Stream(Protocol):
    """A connection over which conversations are followed."""

    def look(self, now: float) -> None:
        """Check whether the stream makes progress; `now` is from `time.monotonic`."""
        ...

    def close(self, closing: Closing) -> None:
        """Make the stream end."""
        ...


class Streams:
    """The followers of one server's conversations; an async context manager.

    A conversation has a relay while it has followers.
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
        """The number of streams."""
        return len(self._streams)

    @property
    def relays(self) -> int:
        """The number of followed conversations."""
        return len(self._relays)

    def follows(self, conversation_id: str) -> bool:
        """Return whether a conversation has followers."""
        return conversation_id in self._relays

    def bell(self, at_once: Callable[[], bool] = not_at_once) -> Bell:
        """Return a bell that wakes a stream, unless `at_once` could do all that was to do."""
        return Bell(self.pace, at_once)

    def add(self, stream: Stream) -> None:
        """Add a stream. Raises `Refusal` if there are too many, or if the server is stopping."""
        if self._draining:
            raise refusal(503, "The server goes away", "come again", "draining")
        if len(self._streams) >= self.settings.max_streams:
            raise refusal(429, "Too many streams", f"the server's limit is {self.settings.max_streams}", "streams")
        self._streams[stream] = None

    def remove(self, stream: Stream) -> None:
        """Remove a stream."""
        self._streams.pop(stream, None)

    def drain(self) -> None:
        """Make every stream end, and take no more, because the server is stopping."""
        self._draining = True
        for stream in list(self._streams):
            stream.close(GOING)

    def discard(self, websocket: WebSocket) -> None:
        """Read and discard what a client still sends on a closed socket.

        Hypercorn puts it into a bounded queue. If nobody reads a full queue, the connection stays for ever.
        """
        if self._tasks is not None:  # otherwise the server is stopping and closes its connections
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
        """Return a new follower of a conversation, from a cursor on. `news` is called when it has something to take.

        Raises `Refusal`, `CursorExpired`, and errors of opening.
        """
        require(principal, Scope.OBSERVE)
        conversation = await self._hosting.read(conversation_id, principal)
        seq = seq_of(after, conversation.state)
        relay = self._relays.get(conversation_id)
        if relay is None or relay.conversation is not conversation:
            assert self._tasks is not None
            relay = self._relays[conversation_id] = Relay(conversation)
            self._tasks.start_soon(self._run, conversation_id, relay)
        return relay.join(seq, news, deltas=deltas)

    def leave(self, follower: Follower) -> None:
        """Remove a follower. The last one to leave ends the relay."""
        relay = follower.relay
        relay.leave(follower)
        if not relay.followers:
            relay.scope.cancel()
            self._forget(relay.conversation.id, relay)

    async def _run(self, conversation_id: str, relay: Relay) -> None:
        await relay.run(partial(self._hosting.read, principal=SERVER))
        self._forget(conversation_id, relay)

    def _forget(self, conversation_id: str, relay: Relay) -> None:
        if self._relays.get(conversation_id) is relay:
            del self._relays[conversation_id]

    async def _watch(self) -> None:
        """Check every stream from time to time."""
        every = min(self.settings.heartbeat, self.settings.patience) / LOOKS
        while True:
            await asyncio.sleep(every)
            now = time.monotonic()
            for stream in list(self._streams):
                stream.look(now)
