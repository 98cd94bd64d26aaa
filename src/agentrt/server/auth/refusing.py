"""Refuses a request or a WebSocket before the application has seen it."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from ..problems import Refusal, response

TOO_MANY = 1013
"""The close code of a socket beyond the limits (RFC 6455, and IANA's registry: try again later)."""


async def refuse(refused: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with a problem. A socket beyond the limits (429) is accepted and then closed, with a code that says so."""
    if scope["type"] == "websocket" and refused.problem.status == 429:
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": TOO_MANY, "reason": refused.problem.title})
    else:
        await response(refused.problem, refused.headers)(scope, receive, send)
