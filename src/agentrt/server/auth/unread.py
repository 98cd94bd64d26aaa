"""`UnreadBodies`: an answer before a request's body was read ends the connection."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class UnreadBodies:
    """ASGI middleware for HTTP/1.1: whoever is refused while he sends is told that the connection ends (RFC 9112, 9.6).

    Else what is left of the body would stand before his next request, and Hypercorn waits for ever to read on.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        read = False

        async def receiving() -> Message:
            nonlocal read
            message = await receive()
            read = read or not message.get("more_body")
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and not read:
                MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        await self.app(scope, receiving, sending)


def _has_body(scope: Scope) -> bool:
    if not scope["http_version"].startswith("1"):
        return False
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
