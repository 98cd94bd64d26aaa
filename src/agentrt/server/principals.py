"""`Principal`: the user on whose behalf a request is made, and the user's permissions."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Scope(StrEnum):
    """A permission of a key."""

    OBSERVE = "observe"
    """Read conversations, follow them, and read their workspaces."""
    STEER = "steer"
    """Begin conversations, send messages, run, pause, interrupt, fork, rewind."""
    EXECUTE = "execute"
    """Run commands in the workspaces of conversations, as the agent's tools can, unasked."""
    APPROVE = "approve"
    """Answer what waits for a person, and change when a person is asked and how much may be spent."""
    ADMIN = "admin"
    """All of this, for every owner; also keys and metrics."""


class Principal(msgspec.Struct, frozen=True):
    """The client of a request: `owner` is the user (None if the server has no keys), `key` the id of the key that was
    sent.
    """

    owner: str | None
    scopes: frozenset[Scope]
    key: str = ""

    def may(self, scope: Scope) -> bool:
        """Return whether this is allowed."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def sees(self, owner: str | None) -> bool:
        """Return whether the conversations of an owner are visible to this client."""
        return Scope.ADMIN in self.scopes or (self.owner is not None and owner == self.owner)


EVERYONE = Principal(owner=None, scopes=frozenset(Scope))
"""A client with the token of a server without keys, which only this machine can reach."""

NOBODY = Principal(owner=None, scopes=frozenset())
"""A client without a key, for requests that need none."""
