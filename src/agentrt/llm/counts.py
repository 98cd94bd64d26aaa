"""`counted`: reads a provider's report of tokens, which does not always have the documented form. Pure."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

T = TypeVar("T")

Tokens = Annotated[int, msgspec.Meta(ge=0)]
"""A number of tokens."""


def counted(reported: Any, kind: type[T]) -> T | None:
    """Return a report of usage as a struct; None if it is missing or invalid, so that the usage must be estimated."""
    try:
        return None if reported is None else msgspec.convert(reported, kind, strict=False)
    except msgspec.ValidationError:
        return None
