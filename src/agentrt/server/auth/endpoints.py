"""REST operations on keys, which an admin makes and revokes, and on tickets, with which a browser opens a socket."""

from __future__ import annotations

import msgspec

from ..principals import Scope
from ..problems import refusal
from ..routing import Call, Endpoint
from .keyring import NoSuchKey
from .keys import ApiKey
from .tickets import LIFE


class KeyInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A key, without its secret; times in seconds since 1970 (UTC)."""

    id: str
    owner: str
    scopes: tuple[Scope, ...]
    created: float
    expires: float | None = None
    revoked: float | None = None


class KeyPage(msgspec.Struct, frozen=True):
    """All keys, including revoked ones, in the order in which they were made."""

    items: tuple[KeyInfo, ...]


class CreateKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key for `owner` that is valid for `days`; without them, for ever."""

    owner: str
    scopes: tuple[Scope, ...]
    days: float | None = None


class NewKey(msgspec.Struct, frozen=True):
    """A key, whose text is shown only now."""

    key: str
    info: KeyInfo


class Ticket(msgspec.Struct, frozen=True):
    """A ticket for one WebSocket or event stream, as `?ticket=`; valid for `expires_in` seconds."""

    ticket: str
    expires_in: int = LIFE


async def list_keys(call: Call[None, None]) -> KeyPage:
    """Return all keys."""
    await call.services.access.keyring.look()
    return KeyPage(tuple(map(_info, call.services.access.keyring.keys.values())))


async def create_key(call: Call[CreateKey, None]) -> NewKey:
    """Make a key. The first key must be an admin's: it closes the server to clients without a key."""
    access, wanted = call.services.access, call.body
    if access.is_open and Scope.ADMIN not in wanted.scopes:
        raise refusal(
            409, "The first key must be an admin's", "else nobody could make or revoke keys here", "first-key"
        )
    text = await access.create(wanted.owner, wanted.scopes, wanted.days)
    return NewKey(text, _info(access.keyring.keys[text.split("_")[1]]))


async def revoke_key(call: Call[None, None]) -> None:
    """Revoke a key; sockets and streams that were opened with it are closed."""
    try:
        await call.services.access.revoke(call.path("key_id"))
    except NoSuchKey as missing:
        raise refusal(404, "No such key", str(missing), "key-missing") from missing


async def create_ticket(call: Call[None, None]) -> Ticket:
    """Make a ticket with the scopes of the key that the request is made with."""
    return Ticket(call.services.access.tickets.issue(call.principal))


def _info(key: ApiKey) -> KeyInfo:
    return KeyInfo(
        id=key.id, owner=key.owner, scopes=key.scopes, created=key.created, expires=key.expires, revoked=key.revoked
    )


ENDPOINTS = (
    Endpoint("GET", "/keys", list_keys, Scope.ADMIN, "All keys, without their secrets", reply=KeyPage, group="keys"),
    Endpoint(
        "POST", "/keys", create_key, Scope.ADMIN, "Make a key", body=CreateKey, reply=NewKey, status=201, group="keys"
    ),
    Endpoint("DELETE", "/keys/{key_id}", revoke_key, Scope.ADMIN, "Revoke a key", status=204, group="keys"),
    Endpoint(
        "POST",
        "/tickets",
        create_ticket,
        Scope.OBSERVE,
        "Make a ticket for one WebSocket or event stream",
        reply=Ticket,
        status=201,
        group="keys",
        any_scope=True,
    ),
)
