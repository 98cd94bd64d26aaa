"""`DrainedBody`: reads what is left of a request's body once it was answered, and throws it away."""

from __future__ import annotations

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send


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

        async def drain() -> None:
            while not over:
                await receiving()

        async def sending(message: Message) -> None:
            if over or message["type"] != "http.response.body" or message.get("more_body", False):
                await send(message)
                return
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(drain)
                await send(message)

        await self.app(scope, receiving, sending)


def _may_have_body(scope: Scope) -> bool:
    """In HTTP/1 a header says so."""
    names = {name for name, _ in scope["headers"]}
    return not scope["http_version"].startswith("1") or not names.isdisjoint({b"content-length", b"transfer-encoding"})
