"""What the log may hold of a conversation's secrets: where each comes from, never its value in the clear."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from .given import Given

Token: TypeAlias = str
"""A value encrypted with the key of a `Cipher`."""


class SavedStatic(msgspec.Struct, frozen=True, omit_defaults=True, tag="StaticSecret"):
    """A value that was given; `token` is empty where it was left out."""

    token: Token = ""
    description: str = ""


class EnvironmentSecret(Given, frozen=True, omit_defaults=True, tag=True):
    """The value of a variable of the environment of the process that runs the conversation, when it is asked for."""

    variable: str
    description: str = ""


class SavedLookup(msgspec.Struct, frozen=True, omit_defaults=True, tag="LookupSecret"):
    """The body of what a URL answers; the value of a header is empty where it was left out."""

    url: str
    headers: dict[str, Token] = {}
    description: str = ""


class SavedCallable(msgspec.Struct, frozen=True, omit_defaults=True, tag="CallableSecret"):
    """What a function of the program returns; no process but its own can have it."""

    description: str = ""


SavedSecret: TypeAlias = SavedStatic | EnvironmentSecret | SavedLookup | SavedCallable
