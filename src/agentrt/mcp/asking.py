"""Requests of a person about a conversation's MCP servers."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from .status import LoginAddress, ServerList, ServerStatus


class ListServers(msgspec.Struct, frozen=True):
    """A request for the status of all servers."""


class ConnectServer(msgspec.Struct, frozen=True):
    """A request to connect again to a server that is down."""

    name: str


class LogIn(msgspec.Struct, frozen=True):
    """A request for the address at which a person logs in. The browser comes back to `redirect`."""

    name: str
    redirect: str
    proof: str = ""
    """The value that the browser shows when it comes back, "" for none."""


class FinishLogin(msgspec.Struct, frozen=True):
    """A request to finish a login, with the address that the browser has come back to."""

    name: str
    address: str


class LogOut(msgspec.Struct, frozen=True):
    """A request to delete the tokens of a login."""

    name: str


ServerQuestion: TypeAlias = ListServers | ConnectServer | LogIn | FinishLogin | LogOut
ServerAnswer: TypeAlias = ServerList | ServerStatus | LoginAddress
