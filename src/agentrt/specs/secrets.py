"""The form in which the log holds a conversation's secrets: their sources, never their values in plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from .given import Given

Token: TypeAlias = str
"""A value encrypted with the key of a `Cipher`."""


class SavedStatic(msgspec.Struct, frozen=True, omit_defaults=True, tag="StaticSecret"):
    """A value that was given; `token` is empty if the value was not kept."""

    token: Token = ""
    description: str = ""


class EnvironmentSecret(Given, frozen=True, omit_defaults=True, tag=True):
    """The value of an environment variable in the process that runs the conversation, read when it is needed."""

    variable: str
    description: str = ""
    servers_only: bool = False
    """Whether only the configuration of MCP servers may refer to it, and no command gets it."""


class SavedLookup(msgspec.Struct, frozen=True, omit_defaults=True, tag="LookupSecret"):
    """The body of a URL's response; a header's value is empty if it was not kept."""

    url: str
    headers: dict[str, Token] = {}
    description: str = ""


class SavedCallable(msgspec.Struct, frozen=True, omit_defaults=True, tag="CallableSecret"):
    """The result of a function of the program; only its own process can get it."""

    description: str = ""


SavedSecret: TypeAlias = SavedStatic | EnvironmentSecret | SavedLookup | SavedCallable


def for_commands(secrets: Mapping[str, SavedSecret]) -> dict[str, SavedSecret]:
    """Return the secrets that commands may have, by name."""
    return {name: one for name, one in secrets.items() if not (isinstance(one, EnvironmentSecret) and one.servers_only)}
