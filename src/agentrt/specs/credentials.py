"""Credentials with which an agent authenticates to an MCP server over HTTP."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from .given import Given


class KeyAuth(Given, frozen=True, omit_defaults=True, tag_field="type", tag="key"):
    """An API key in a custom header."""

    value: str
    header: str = "X-API-Key"


class BearerAuth(Given, frozen=True, omit_defaults=True, tag_field="type", tag="bearer"):
    """A token in the Authorization header (RFC 6750)."""

    token: str


class BasicAuth(Given, frozen=True, omit_defaults=True, tag_field="type", tag="basic"):
    """A user name and a password (RFC 7617)."""

    username: str
    password: str


class OAuth(Given, frozen=True, omit_defaults=True, tag_field="type", tag="oauth"):
    """OAuth 2.1: a person logs in once, in a browser. Without a client id, the login registers a client (RFC 7591)."""

    client_id: str = ""
    """The id of a client that was registered manually, or the https address of a document about the client."""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()
    """The requested scopes; empty: those that the server names."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """The local port for the redirect of a login; 0: any. A manually registered client may need a fixed port."""


Credentials: TypeAlias = KeyAuth | BearerAuth | BasicAuth | OAuth

AUTHORIZES = re.compile(r"(?:^|[-_])(?:auth|authorization|cookie|(?:api)?key|token|secret|password)(?:$|[-_])", re.I)
"""Matches names of headers and variables that carry credentials."""

SHORTEST = 6
"""The least number of characters for a part of such a header to count as a secret."""

_SCHEMES = ("bearer", "basic", "digest", "token")
_SECRET = ("value", "token", "password", "client_secret")


def as_credentials(given: Any) -> Any:
    """Convert "oauth" to `OAuth`, and other text to a bearer token; return other values as they are."""
    if not isinstance(given, str):
        return given
    return OAuth() if given == "oauth" else BearerAuth(given)


def texts_of(credentials: Credentials | None) -> tuple[str, ...]:
    """Return the texts of credentials, which may refer to variables."""
    return () if credentials is None else tuple(v for v in _fields(credentials).values() if isinstance(v, str))


def filled(credentials: Credentials | None, fill: Callable[[str], str]) -> Credentials | None:
    """Return the credentials with each text filled in."""
    if credentials is None:
        return None
    given = {name: fill(value) for name, value in _fields(credentials).items() if isinstance(value, str)}
    return msgspec.structs.replace(credentials, **given)


def hidden(credentials: Credentials | None, hide: Callable[[str, str], str]) -> Credentials | None:
    """Return the credentials with each secret replaced by the result of `hide`, which gets its name."""
    if credentials is None:
        return None
    given = {name: hide(name, value) for name, value in _fields(credentials).items() if name in _SECRET and value}
    return msgspec.structs.replace(credentials, **given)


def shown_by(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets in headers: the values of those with credentials, and their words, as in `Bearer abc`."""
    values = [value for name, value in headers.items() if AUTHORIZES.search(name)]
    parts = (part for value in values for part in (value, *value.split()))
    return tuple(part for part in parts if len(part) >= SHORTEST and part.lower() not in _SCHEMES)


def headers_of(credentials: Credentials | None) -> dict[str, str]:
    """Return the headers that carry credentials; none for OAuth, whose tokens change."""
    match credentials:
        case KeyAuth(value, header):
            return {header: value}
        case BearerAuth(token):
            return {"Authorization": f"Bearer {token}"}
        case BasicAuth(username, password):
            return {"Authorization": f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"}
        case _:
            return {}


def _fields(credentials: Credentials) -> dict[str, Any]:
    return msgspec.structs.asdict(credentials)
