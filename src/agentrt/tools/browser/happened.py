"""`Happened`: what happened to the tabs of a browser; `Tab`: a tab as a model is told of it."""

from __future__ import annotations

from typing import Any

import msgspec


class Tab(msgspec.Struct, frozen=True):
    """A tab. Actions apply to the `active` one."""

    id: int
    url: str
    title: str
    active: bool = False


class Happened(msgspec.Struct):
    """What happened to the tabs since the last step, in words, the downloads that began, and the number of dialogs."""

    told: list[str] = []
    downloads: list[Any] = []
    dialogs: int = 0
