"""`counted`: what a provider reports of an answer's tokens, which is not always what its interface says. Pure."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

T = TypeVar("T")

Tokens = Annotated[int, msgspec.Meta(ge=0)]
"""A number of tokens."""


def counted(reported: Any, kind: type[T]) -> T | None:
    """Return a report of usage as a struct; None for one that is missing or cannot be right, and is estimated then."""
    try:
        return None if reported is None else msgspec.convert(reported, kind, strict=False)
    except msgspec.ValidationError:
        return None
