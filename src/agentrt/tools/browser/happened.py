"""`Happened`: what befell the tabs of a browser, and the tabs as they are told."""

from __future__ import annotations

from typing import Any

import msgspec


class Tab(msgspec.Struct, frozen=True):
    """A tab; `active` is the one that is acted on."""

    id: int
    url: str
    title: str
    active: bool = False


class Happened(msgspec.Struct):
    """What befell the tabs since the last step, in words, and the downloads that were begun."""

    told: list[str] = []
    downloads: list[Any] = []
    dialogs: int = 0
