"""`EventSource`: a conversation as server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import contextlib
import time

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ...events import Cursor
from ..principals import Principal
from .codes import Closing
from .encoding import sent_event
from .follower import Follower
from .streams import Streams

BODY = 64 * 1024
"""Bytes that are sent at once; a longer event is sent alone."""

RETRY = 2000
"""Milliseconds after which a browser that lost its connection reconnects."""

MEDIA_TYPE = "text/event-stream"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_HEARTBEAT = b": heartbeat\n\n"


class EventSource(Response):
    """A conversation as server-sent events. It ends if its client takes nothing for too long."""

    media_type = MEDIA_TYPE

    def __init__(self, streams: Streams) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._streams = streams
        self._bell = streams.bell()
        self._follower: Follower | None = None
        self._scope = anyio.CancelScope()
        self._said = time.monotonic()
        self._sending: float | None = None
        self._beat = self._over = False

    async def follow(self, conversation_id: str, principal: Principal, after: Cursor, *, deltas: bool) -> None:
        """Begin to follow. Raises the errors of `Streams.follow`, and `Refusal` if there are too many streams."""
        self._streams.add(self)
        try:
            self._follower = await self._streams.follow(
                conversation_id, principal, after, lambda follower: self._bell.ring(), deltas=deltas
            )
        except BaseException:
            self._streams.remove(self)
            raise

    def close(self, closing: Closing) -> None:
        """Make it end, after what is being sent."""
        self._over = True
        self._bell.ring()

    def look(self, now: float) -> None:
        """End it if it makes no progress; send a heartbeat if nothing was sent for some time."""
        if self._sending is not None and now - self._sending > self._streams.settings.patience:
            self._scope.cancel()
        elif now - self._said > self._streams.settings.heartbeat:
            self._beat = True
            self._bell.ring()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client or the server ends it."""
        assert self._follower is not None
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._wait_for_end, receive)
                    with contextlib.suppress(OSError):  # the client is gone
                        await self._write(self._follower, send)
                    tasks.cancel_scope.cancel()
        finally:
            self._streams.leave(self._follower)
            self._streams.remove(self)

    async def _wait_for_end(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._scope.cancel()

    async def _write(self, follower: Follower, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._send(send, b"retry: %d\n\n" % RETRY)
        while follower.problem is None and not self._over:
            await self._bell.wait()
            while body := await self._next(follower):
                await self._send(send, body)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self, follower: Follower) -> bytes:
        parts = [_HEARTBEAT] if self._beat else []
        self._beat = False
        if follower.problem is None and not self._over:
            parts += [sent_event(piece, follower.relay.epoch) for piece in await follower.take(BODY)]
        return b"".join(parts)

    async def _send(self, send: Send, body: bytes) -> None:
        self._sending = time.monotonic()
        await send({"type": "http.response.body", "body": body, "more_body": True})
        self._sending, self._said = None, time.monotonic()
