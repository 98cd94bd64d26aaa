"""The usage of model calls: tokens, money, time. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import astuple


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens of a model call, or the sum of several; tokens read from and written to a cache are part of the prompt."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(mine - theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    @property
    def total(self) -> int:
        """Tokens of prompt and completion."""
        return self.prompt_tokens + self.completion_tokens


class Spending(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The sum of what calls used: `cost` in USD without the `unpriced` ones, `seconds` spent waiting for models."""

    calls: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    unpriced: int = 0
    """Number of calls whose price is unknown."""
    seconds: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            self.calls + other.calls,
            self.usage + other.usage,
            self.cost + other.cost,
            self.unpriced + other.unpriced,
            self.seconds + other.seconds,
        )

    def __sub__(self, other: Spending) -> Spending:
        return Spending(
            self.calls - other.calls,
            self.usage - other.usage,
            self.cost - other.cost,
            self.unpriced - other.unpriced,
            self.seconds - other.seconds,
        )


def total(spendings: Iterable[Spending]) -> Spending:
    """Return the sum of all spendings."""
    return sum(spendings, Spending())
