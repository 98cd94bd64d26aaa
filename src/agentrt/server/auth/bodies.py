"""`RequestBodies`: handles request bodies that are not read, arrive too slowly, or end early."""

from __future__ import annotations

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..problems import refusal


class RequestBodies:
    """ASGI middleware: each piece of a body must arrive within `patience` seconds, and a disconnect is not an error.

    A response that is sent before the body was read says that the connection closes (RFC 9112, 9.6). Otherwise the rest
    of the body would come before the client's next request, and Hypercorn would wait for ever to read on.
    """

    def __init__(self, app: ASGIApp, patience: float) -> None:
        self.app, self._patience = app, patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        read = False

        async def receiving() -> Message:
            nonlocal read
            if read:
                return await receive()
            try:
                with anyio.fail_after(self._patience):
                    message = await receive()
            except TimeoutError:
                detail = f"nothing of the body came for {self._patience:g} s"
                raise refusal(408, "The request is too slow", detail, "body-too-slow") from None
            read = not message.get("more_body")
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and not read and scope["http_version"].startswith("1"):
                MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        try:
            await self.app(scope, receiving, sending)
        except ClientDisconnect:
            return  # there is nobody to answer


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
