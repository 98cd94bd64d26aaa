"""`Principal`: on whose behalf a request is made, and what he may do."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Scope(StrEnum):
    """What a key allows."""

    OBSERVE = "observe"
    """Read conversations, follow them, and read their workspaces."""
    STEER = "steer"
    """Begin conversations, say something, run, pause, interrupt, fork, rewind."""
    APPROVE = "approve"
    """Answer what waits for a person, and change who is asked and what it may spend."""
    ADMIN = "admin"
    """All of it, of every owner; keys and metrics."""


class Principal(msgspec.Struct, frozen=True):
    """Who asks: `owner` is the user (None where the server has no keys), `key` the id of the key that was shown."""

    owner: str | None
    scopes: frozenset[Scope]
    key: str = ""

    def may(self, scope: Scope) -> bool:
        """Whether this is allowed."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def sees(self, owner: str | None) -> bool:
        """Whether the conversations of an owner are there for him."""
        return Scope.ADMIN in self.scopes or (self.owner is not None and owner == self.owner)


EVERYONE = Principal(owner=None, scopes=frozenset(Scope))
"""Whoever shows the token of a server without keys, which only this machine reaches."""

NOBODY = Principal(owner=None, scopes=frozenset())
"""Whoever asks for what needs no key."""
