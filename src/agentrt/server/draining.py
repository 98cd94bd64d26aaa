"""`DrainedBody`: reads the rest of a request's body after the response, and discards it."""

from __future__ import annotations

from math import inf

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LINGER, QUIET = 2.0, 0.25
"""Seconds after the response for which a client may go on sending, and for which it may be silent meanwhile."""


class DrainedBody:
    """ASGI middleware that drains request bodies. Only `Started` is outside of it.

    A request may be answered before its body has arrived, for example if the body is too large or the client unknown.
    At the end of the response, Hypercorn then waits until the application takes the data that it has read, and does not
    notice if the client disconnects: both would wait for ever.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _may_have_body(scope):
            await self.app(scope, receive, send)
            return
        over = False

        async def receiving() -> Message:
            nonlocal over
            message = await receive()
            over = message["type"] == "http.disconnect" or not message.get("more_body", False)
            return message

        async def drain(patience: float | None = None) -> None:
            with anyio.CancelScope() as silence:
                while not over:
                    silence.deadline = inf if patience is None else anyio.current_time() + patience
                    await receiving()

        async def sending(message: Message) -> None:
            if over or message["type"] != "http.response.body" or message.get("more_body", False):
                await send(message)
                return
            # first the response, then the rest of the body, then the response's end: a connection that is closed while
            # its client sends is reset, and the client may lose the response (RFC 9112, 9.6)
            await send({**message, "more_body": True})
            with anyio.move_on_after(LINGER):
                await drain(QUIET)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(drain)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self.app(scope, receiving, sending)


def _may_have_body(scope: Scope) -> bool:
    """Return whether a request may have a body; in HTTP/1 a header says so."""
    names = {name for name, _ in scope["headers"]}
    return not scope["http_version"].startswith("1") or not names.isdisjoint({b"content-length", b"transfer-encoding"})
