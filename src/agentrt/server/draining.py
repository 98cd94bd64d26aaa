"""`DrainedBody`: reads what is left of a request's body once it was answered, and throws it away."""

from __future__ import annotations

from math import inf

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LINGER, QUIET = 2.0, 0.25
"""Seconds that a client which was answered may go on sending, and that it may be silent meanwhile."""


class DrainedBody:
    """ASGI middleware, the outermost.

    A request may be answered before its body is there: one that is too large, or of nobody. Hypercorn then waits, at
    the end of the answer, until the application takes what was read, and does not see meanwhile that the client is
    gone: both would wait for ever.
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
            # the answer first, then what is still sent, then its end: a connection that is closed while its client
            # sends is reset, and what was answered may be lost (RFC 9112, 9.6)
            await send({**message, "more_body": True})
            with anyio.move_on_after(LINGER):
                await drain(QUIET)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(drain)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self.app(scope, receiving, sending)


def _may_have_body(scope: Scope) -> bool:
    """In HTTP/1 a header says so."""
    names = {name for name, _ in scope["headers"]}
    return not scope["http_version"].startswith("1") or not names.isdisjoint({b"content-length", b"transfer-encoding"})
