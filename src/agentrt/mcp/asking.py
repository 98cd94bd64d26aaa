"""What people ask of a conversation's MCP servers."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from .status import LoginAddress, ServerList, ServerStatus


class ListServers(msgspec.Struct, frozen=True):
    """How do they stand?"""


class ConnectServer(msgspec.Struct, frozen=True):
    """Try again to connect to one that is down."""

    name: str


class LogIn(msgspec.Struct, frozen=True):
    """At which address does a person log in, and come back from to `redirect`?"""

    name: str
    redirect: str


class LogOut(msgspec.Struct, frozen=True):
    """Forget the tokens of a login."""

    name: str


ServerQuestion: TypeAlias = ListServers | ConnectServer | LogIn | LogOut
ServerAnswer: TypeAlias = ServerList | ServerStatus | LoginAddress
