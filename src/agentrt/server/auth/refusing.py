"""Refuses a request or a WebSocket before the application has seen it."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from ..problems import Refusal, response

TOO_MANY = 1013
"""The code (RFC 6455, and IANA's registry: try again later) with which a socket is closed that is one too many."""


async def refuse(refused: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with a problem; a socket that is one too many is opened, and closed with a code that says so."""
    if scope["type"] == "websocket" and refused.problem.status == 429:
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": TOO_MANY, "reason": refused.problem.title})
    else:
        await response(refused.problem, refused.headers)(scope, receive, send)
