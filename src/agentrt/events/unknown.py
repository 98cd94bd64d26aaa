"""An event that this version does not know."""

from __future__ import annotations

import msgspec

from .base import Event


class UnknownEvent(Event, frozen=True, kw_only=True):
    """An event of a type that this version does not know: `raw` is its JSON, kept and passed on as it is."""

    kind: str
    raw: msgspec.Raw
