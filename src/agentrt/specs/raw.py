"""Values as raw JSON."""

from __future__ import annotations

import msgspec


def raw(value: object) -> msgspec.Raw:
    """Return a value as JSON, as it is stored in a log."""
    return msgspec.Raw(msgspec.json.encode(value))
