"""Finds the keys that models are called with, and masks them in recorded calls. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..secrets import HIDDEN, Mask
from ..specs import AnyLLM
from ..specs.llm import given_key, members

_KEY_VARIABLE = "_API_KEY"
"""The end of a variable's name."""

SHORTEST_KEY = 8
"""Minimum number of characters of a value that counts as a key; shorter values, such as "none", are left as they are.
"""

_KEY_HEADER = re.compile(r"authorization|api-?key|auth-?token|access-?token|secret|password|cookie")

_OF_A_KIND = frozenset({"role", "type", "api", "reasoning_effort", "reasoning_summary"})
"""Members with one of a few fixed values, which are not masked even if a secret is the same word."""


def holds_key(header: str) -> bool:
    """Return whether a header, or a member of a request's body, carries a key."""
    return _KEY_HEADER.search(header.lower().replace("_", "-")) is not None


def keys_of(llm: AnyLLM, environment: Mapping[str, str]) -> list[str]:
    """Return the keys, of 8 characters or more, that were given for the models of `llm`, and the values of the
    variables that these name and of every *_API_KEY.
    """
    named = {member.api_key_env for member in members(llm)}
    keys = [environment.get(name, "") for name in environment if name in named or name.endswith(_KEY_VARIABLE)]
    keys += [given_key(member.api_key) or "" for member in members(llm) if member.api_key is not None]
    return [key for key in keys if len(key) >= SHORTEST_KEY]


def recorded(value: Any, mask: Mask) -> Any:
    """Return decoded JSON, masked; the values of headers that carry keys are masked as well."""
    return mask.json(_without_headers(value), spared=_OF_A_KIND)


def _without_headers(value: Any) -> Any:
    match value:
        case list():
            return [_without_headers(item) for item in value]
        case dict():
            return {name: _member(name, item) for name, item in value.items()}
        case _:
            return value


def _member(name: str, value: Any) -> Any:
    if name == "extra_headers" and isinstance(value, dict):
        return {header: HIDDEN if holds_key(header) else item for header, item in value.items()}
    return _without_headers(value)
