"""REST operations on the MCP servers of a conversation: their status, and logins."""

from __future__ import annotations

from html import escape
from secrets import token_urlsafe
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from ...errors import AgentrtError
from ...mcp.login import Redirected
from ...mcp.status import LoginAddress, ServerList, ServerStatus
from ..pages import HEADERS
from ..principals import Scope
from ..routing import Answered, Call, Endpoint

_COOKIE = "agentrt-login"
"""The cookie of the browser that began a login. Only it can end the login, so nobody can have another person log in."""

_CALLBACK = "mcp_login_callback"
_PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>agentrt</title><p>{}</p></html>'


async def servers(call: Call[None, None]) -> ServerList:
    """Return the status of each server: its tools, its error, and the last lines of its log."""
    return await (await call.conversation()).servers.list()


async def connect_server(call: Call[None, None]) -> ServerStatus:
    """Try again to connect to a server that is down; return its new status."""
    return await (await call.conversation()).servers.connect(call.path("server"))


async def log_in_at_server(call: Call[None, None]) -> Answered:
    """Begin a login; return the address at which a person logs in (OAuth 2.1). When the browser that began it comes
    back here, the server is connected. If another browser comes back, pass its address to `finish_login`.
    """
    redirect, proof = call.request.url_for(_CALLBACK), token_urlsafe()
    url = await (await call.conversation()).servers.log_in(call.path("server"), str(redirect), proof)
    cookie = f"{_COOKIE}={proof}; Path={redirect.path}; Max-Age=600; HttpOnly; SameSite=Lax"
    secure = "; Secure" if redirect.scheme == "https" else ""
    return Answered(LoginAddress(url=url), 200, {"Set-Cookie": cookie + secure})


class LoginEnd(msgspec.Struct, forbid_unknown_fields=True):
    """The address at which a login has ended."""

    address: Annotated[str, Meta(max_length=8192)]
    """The whole address that the browser has come back to."""


async def finish_login_at_server(call: Call[LoginEnd, None]) -> ServerStatus:
    """End a login, by the address that a browser has come back to; return the server's new status."""
    return await (await call.conversation()).servers.finish_log_in(call.path("server"), call.body.address)


async def log_out_at_server(call: Call[None, None]) -> ServerStatus:
    """Forget the tokens of a login; return the server's new status."""
    return await (await call.conversation()).servers.log_out(call.path("server"))


async def _came_back(request: Request) -> HTMLResponse:
    """End a login when a browser comes back from it; only the browser that began the login can end it."""
    try:
        found, proof = Redirected.read(request.url.query), request.cookies.get(_COOKIE, "")
        await request.app.state.runtime.connections.logins.finish(found, proof)
    except AgentrtError as error:
        return HTMLResponse(_PAGE.format(f"The login has failed: {escape(str(error))}"), 400, headers=HEADERS)
    return HTMLResponse(_PAGE.format("You are logged in, and can close this page."), headers=HEADERS)


_GROUP = "servers"
_BASE = "/conversations/{id}/servers"

ENDPOINTS = (
    Endpoint("GET", _BASE, servers, Scope.OBSERVE, "The MCP servers", reply=ServerList, group=_GROUP),
    Endpoint(
        "POST",
        f"{_BASE}/{{server}}/connect",
        connect_server,
        Scope.STEER,
        "Connect to a server again",
        reply=ServerStatus,
        group=_GROUP,
    ),
    Endpoint(
        "POST",
        f"{_BASE}/{{server}}/login",
        log_in_at_server,
        Scope.APPROVE,
        "Log in at a server",
        reply=LoginAddress,
        group=_GROUP,
    ),
    Endpoint(
        "POST",
        f"{_BASE}/{{server}}/finish_login",
        finish_login_at_server,
        Scope.APPROVE,
        "End a login at a server",
        body=LoginEnd,
        reply=ServerStatus,
        group=_GROUP,
    ),
    Endpoint(
        "POST",
        f"{_BASE}/{{server}}/logout",
        log_out_at_server,
        Scope.APPROVE,
        "Log out at a server",
        reply=ServerStatus,
        group=_GROUP,
    ),
)

ROUTES = (Route("/mcp/callback", _came_back, methods=["GET"], name=_CALLBACK, include_in_schema=False),)
