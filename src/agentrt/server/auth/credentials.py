"""The credentials of a request: a key in a header, a token in a cookie, or a ticket. Pure."""

from __future__ import annotations

from urllib.parse import unquote_plus

import msgspec
from starlette.requests import HTTPConnection

from ..problems import Refusal, refusal
from ..streams.declared import is_event_stream
from .keys import LIKE_A_KEY

IN_URL = frozenset(
    {
        "access_token",
        "api-key",
        "api_key",
        "apikey",
        "auth",
        "auth_token",
        "authorization",
        "bearer",
        "session_api_key",
        "token",
        "x-api-key",
        "x-session-api-key",
    }
)
"""Names of query parameters that would put a key into the URL, which logs and histories keep."""

COOKIE = "agentrt-token"
"""The cookie in which a client may send the server's token. The server never sets it: a browser would also send it to
programs on other ports of the same host, such as a server that an agent started.
"""

CHALLENGE = 'Bearer realm="agentrt"'


class Credentials(msgspec.Struct, frozen=True):
    """A `key` or a `ticket`, or neither; and the token in a `cookie`, which is used if there is no key."""

    key: str = ""
    ticket: str = ""
    cookie: str = ""

    def __bool__(self) -> bool:
        return bool(self.key or self.ticket)


def credentials_of(connection: HTTPConnection) -> Credentials:
    """Return a request's credentials. Raises `Refusal` for a key in the URL, two keys, or a ticket for no stream."""
    if _has_key(connection):
        raise refusal(
            400,
            "A key in the URL",
            "send it as 'Authorization: Bearer KEY'; this one may be in logs now: revoke it, and create another",
            "key-in-url",
        )
    tickets = connection.query_params.getlist("ticket")
    if tickets and not is_stream(connection):
        raise refusal(
            400, "Tickets are not accepted here", "tickets are for WebSockets and event streams", "ticket-not-taken"
        )
    shown = {*_bearers(connection), *connection.headers.getlist("x-session-api-key")}
    if len(shown) + len(tickets) > 1:
        raise refusal(400, "More than one key", "send one key, or one ticket", "two-keys")
    cookie = connection.cookies.get(COOKIE, "")
    return Credentials(key=next(iter(shown), ""), ticket=next(iter(tickets), ""), cookie=cookie)


def is_stream(connection: HTTPConnection) -> bool:
    """Return whether a connection is a WebSocket, or asks for server-sent events."""
    if connection.scope["type"] == "websocket":
        return True
    return connection.scope["method"] == "GET" and is_event_stream(
        connection.scope["path"], connection.headers.get("accept", "")
    )


def not_known(detail: str) -> Refusal:
    """Return the refusal of a client that is not authenticated."""
    return refusal(401, "Not authenticated", detail, "not-authenticated", WWW_Authenticate=CHALLENGE)


def _bearers(connection: HTTPConnection) -> list[str]:
    given = []
    for value in connection.headers.getlist("authorization"):
        scheme, _, key = value.partition(" ")
        if scheme.lower() != "bearer":
            continue  # not our scheme
        if not key.strip():
            raise not_known("the header is 'Authorization: Bearer KEY'")
        given.append(key.strip())
    return given


def _has_key(connection: HTTPConnection) -> bool:
    if any(name.lower() in IN_URL for name in connection.query_params):
        return True
    whole = f"{connection.scope['path']}?{unquote_plus(connection.scope['query_string'].decode('latin-1'))}"
    return LIKE_A_KEY.search(whole) is not None
