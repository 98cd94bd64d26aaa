"""`Access`: a server's default authenticator, by the keys of its store."""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import TypeAlias

import anyio
from starlette.requests import HTTPConnection

from ...errors import ConfigurationError
from ...storing import Shelf
from ..principals import EVERYONE, Principal, Scope
from ..settings import LOOPBACK, ServerSettings
from .credentials import credentials_of, not_known
from .gate import Gate, key_of, visit_of
from .keyring import Keyring
from .keys import is_it, split
from .tickets import Tickets

LOOK_SECONDS = 1.0
"""Seconds between looks at the keys: a key that another process has revoked may stay valid that long."""

SHORTEST_TOKEN = 16

Login: TypeAlias = Callable[[HTTPConnection], Awaitable[Principal]]
"""Returns the principal of a request. Raises `Refusal`."""

_log = logging.getLogger(__name__)


class Access:
    """An `Authenticator` by the keys of a store. It also has the tickets, and ends the sockets of revoked keys.

    If the store never had a key, and the server listens on loopback, a client with its `token` is `EVERYONE`. Without a
    token in the settings, one is made at each start and shown to the person who starts the server, so no command of an
    agent has it.
    """

    def __init__(
        self,
        shelf: Shelf,
        settings: ServerSettings,
        clock: Callable[[], float] = time.time,
        look_every: float = LOOK_SECONDS,
    ) -> None:
        """The keys are read again every `look_every` seconds.

        Raise `ConfigurationError` for a token that can be guessed, or an invalid rate.
        """
        if settings.token is not None and len(settings.token) < SHORTEST_TOKEN:
            raise ConfigurationError(f"a server's token has {SHORTEST_TOKEN} characters or more; None makes one")
        self.keyring, self.tickets, self.gate = Keyring(shelf, clock), Tickets(), Gate(settings)
        self.token = settings.token or secrets.token_urlsafe(32)
        self._loopback, self._look_every = settings.host in LOOPBACK, look_every

    @property
    def is_open(self) -> bool:
        """Whether the token is enough and no key is needed."""
        return self._loopback and not self.keyring.closed

    def address(self, url: str) -> str:
        """Return the address of the console for a person, with the token if that is enough.

        The token is in the fragment, which a browser sends to no server, so it gets into no log.
        """
        return f"{url}/#token={self.token}" if self.is_open else url

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Read the keys again from time to time. Raises `ConfigurationError` if the first reading fails."""
        await self.keyring.look()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def __call__(self, connection: HTTPConnection) -> Principal:
        """Return the principal of the key, token or ticket of a request. Raises `Refusal`."""
        shown = credentials_of(connection)
        if shown.ticket:
            principal = self._of_ticket(shown.ticket)
        elif self.is_open:
            principal = self._of_token(shown.key or shown.cookie, connection)
        elif shown.key:
            principal = self.known(shown.key) or await self._of_new_key(shown.key)
        else:
            raise not_known("send a key as 'Authorization: Bearer KEY'")
        if principal is None:
            await self.gate.failed(connection)
            raise not_known("the key, token or ticket is unknown or has expired")
        if principal.key:
            await self.gate.admit(key_of(principal.key), visit_of(connection))
        return principal

    async def create(self, owner: str, scopes: Iterable[Scope], days: float | None = None) -> str:
        """Make a key; return its text, which cannot be shown again. Raises `ConfigurationError`."""
        return await self.keyring.create(owner, scopes, days)

    async def revoke(self, key_id: str) -> None:
        """Revoke a key, with its tickets, sockets and streams. Raises `NoSuchKey`, `ConfigurationError`."""
        await self.keyring.revoke(key_id)
        self._cut()

    def known(self, text: str) -> Principal | None:
        """Return the principal of a key, by the keys that were read last; None if it is not valid."""
        key_id, secret = split(text) or ("", text)
        key = self.keyring.keys.get(key_id)
        if not is_it(key, secret) or key is None or not self.keyring.is_good(key_id):
            return None
        return key.principal

    async def _of_new_key(self, text: str) -> Principal | None:
        """Return the principal of a key that may be new, after reading the keys again; None if it is not valid."""
        if (parts := split(text)) is None or parts[0] in self.keyring.keys:
            return None
        await self._look()
        return self.known(text)

    def _of_token(self, shown: str, connection: HTTPConnection) -> Principal | None:
        if not _is_here(connection):
            raise not_known(
                "a server without keys answers only this machine: make a key with 'agentrt keys create --owner NAME'"
            )
        if not shown:
            raise not_known(
                "open the address that the server showed when it started, or send the token in it as"
                " 'Authorization: Bearer TOKEN'"
            )
        return EVERYONE if hmac.compare_digest(shown.encode(), self.token.encode()) else None

    def _of_ticket(self, ticket: str) -> Principal | None:
        principal = self.tickets.redeem(ticket)
        if principal is None or not (self.keyring.is_good(principal.key) if principal.key else self.is_open):
            return None
        return principal

    async def _watch(self) -> None:
        while True:
            await anyio.sleep(self._look_every)
            await self._look()
            self._cut()

    async def _look(self) -> None:
        try:
            await self.keyring.look()
        except ConfigurationError as error:
            _log.error("nobody is let in: %s", error)

    def _cut(self) -> None:
        for key_id in self.keyring.keys:
            if not self.keyring.is_good(key_id):
                self.tickets.revoke(key_id)
        self.gate.cut(self.keyring.is_good)


def _is_here(connection: HTTPConnection) -> bool:
    """Return whether the server's address, on this connection, is loopback or unknown. The settings do not tell:
    another application may serve this one on any address.
    """
    host = (connection.scope.get("server") or ("", None))[0]
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return True


def with_tickets(authenticate: Login, tickets: Tickets) -> Login:
    """Return an authenticator that redeems tickets itself, and leaves other requests to `authenticate`."""

    async def authenticated(connection: HTTPConnection) -> Principal:
        if not (ticket := credentials_of(connection).ticket):
            return await authenticate(connection)
        if (principal := tickets.redeem(ticket)) is None:
            raise not_known("the ticket is unknown or has expired")
        return principal

    return authenticated
