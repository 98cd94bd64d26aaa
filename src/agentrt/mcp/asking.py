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
    proof: str = ""
    """The value that the browser shows when it comes back; "": none."""


class FinishLogin(msgspec.Struct, frozen=True):
    """End a login by the address that a browser has come back to."""

    name: str
    address: str


class LogOut(msgspec.Struct, frozen=True):
    """Forget the tokens of a login."""

    name: str


ServerQuestion: TypeAlias = ListServers | ConnectServer | LogIn | FinishLogin | LogOut
ServerAnswer: TypeAlias = ServerList | ServerStatus | LoginAddress
