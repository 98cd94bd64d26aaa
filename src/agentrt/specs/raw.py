"""Values as raw JSON."""

from __future__ import annotations

import msgspec


def raw(value: object) -> msgspec.Raw:
    """A value as the JSON that a log has of it."""
    return msgspec.Raw(msgspec.json.encode(value))
