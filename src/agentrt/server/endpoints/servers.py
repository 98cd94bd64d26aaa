"""The MCP servers of a conversation: how they stand, and logins at them."""

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
"""Shows that a browser that comes back is the one that began: nobody has another one log in for him."""

_CALLBACK = "mcp_login_callback"
_PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>agentrt</title><p>{}</p></html>'


async def servers(call: Call[None, None]) -> ServerList:
    """How each server stands: its tools, what is wrong, and the last lines of its log."""
    return await (await call.conversation()).servers.list()


async def connect_server(call: Call[None, None]) -> ServerStatus:
    """Try again to connect to a server that is down; how it stands then."""
    return await (await call.conversation()).servers.connect(call.path("server"))


async def log_in_at_server(call: Call[None, None]) -> Answered:
    """The address at which a person logs in (OAuth 2.1). The browser that has begun it comes back here, which connects
    the server; where another one comes, its address goes to `finish_login`.
    """
    redirect, proof = call.request.url_for(_CALLBACK), token_urlsafe()
    url = await (await call.conversation()).servers.log_in(call.path("server"), str(redirect), proof)
    cookie = f"{_COOKIE}={proof}; Path={redirect.path}; Max-Age=600; HttpOnly; SameSite=Lax"
    secure = "; Secure" if redirect.scheme == "https" else ""
    return Answered(LoginAddress(url=url), 200, {"Set-Cookie": cookie + secure})


class LoginEnd(msgspec.Struct, forbid_unknown_fields=True):
    """Where a login has ended."""

    address: Annotated[str, Meta(max_length=8192)]
    """The address that the browser has come back to, whole."""


async def finish_login_at_server(call: Call[LoginEnd, None]) -> ServerStatus:
    """End a login by the address that a browser has come back to; how the server stands then."""
    return await (await call.conversation()).servers.finish_log_in(call.path("server"), call.body.address)


async def log_out_at_server(call: Call[None, None]) -> ServerStatus:
    """Forget the tokens of a login; how the server stands then."""
    return await (await call.conversation()).servers.log_out(call.path("server"))


async def _came_back(request: Request) -> HTMLResponse:
    """A browser after a login: what it brings is of use only to who began that."""
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
