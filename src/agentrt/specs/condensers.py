"""Condensers: when an agent's view of its conversation is made shorter, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from ..errors import ConfigurationError
from .given import Count, Given, Share, Some
from .llm import AnyLLM, as_llm

WINDOW_SHARE = 0.8
"""Of a model's context window, what a view may fill before it is condensed."""


class CondensationReason(StrEnum):
    """Why a view is condensed."""

    REQUEST = "request"
    """A person asked for it, or the model said that the view is too long."""
    EVENTS = "events"
    """It has more events than `max_size`."""
    TOKENS = "tokens"
    """It has more tokens than `max_tokens`, or than 0.8 of the model's context window."""


class _ByTokens(Given, frozen=True, kw_only=True, omit_defaults=True):
    """What the condensers have in common that begin by themselves."""

    max_tokens: Some | None = None
    """Tokens from which on a view is condensed, to half of that; None: 0.8 of the model's context window, where that is
    known.
    """
    minimum_progress: Share = 0.1
    """The share of a view that a condensation must take away to be worth it."""


class _Bounded(_ByTokens, frozen=True, kw_only=True, omit_defaults=True):
    """Those that take events out of a view."""

    max_size: Some = 240
    """Events from which on it is condensed, to half of that."""
    keep_first: Count = 2
    """Events at the beginning that stay: the instructions and the first message, at least."""

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        if self.max_size // 2 - self.keep_first - 1 <= 0:
            kind, least = type(self).__name__, 2 * (self.keep_first + 2)
            raise ConfigurationError(
                f"{kind}(max_size={self.max_size}, keep_first={self.keep_first}) leaves no room after a condensation:"
                f" max_size must be {least} at least"
            )


class LLMSummarizingCondenser(_Bounded, frozen=True, tag=True, kw_only=True, omit_defaults=True):
    """Has a model sum up what is long ago, and puts the summary in its place.

    Where no cut makes progress and the view must become shorter, all of it is summed up, each event's text cut to
    `hard_context_reset_context_scaling` of its length again and again, `hard_context_reset_max_retries` times at most.
    """

    llm: AnyLLM | None = None
    """Who sums up; None: the agent's model, which finds most of the prompt in its cache."""
    hard_context_reset_max_retries: Count = 5
    hard_context_reset_context_scaling: Share = 0.8

    def __post_init__(self) -> None:
        force_setattr(self, "llm", as_llm(self.llm))
        _Bounded.__post_init__(self)


class ObservationMaskingCondenser(_ByTokens, frozen=True, tag=True, kw_only=True, omit_defaults=True):
    """Takes old output and images out of results, and says so in their place; the calls stay.

    It calls no model, and takes no event away: it acts on tokens alone. Where that is not enough it has nothing to
    offer: put another one behind it in a pipeline.
    """

    attention_window: Count = 20
    """The newest results, which stay whole."""


class NoOpCondenser(Given, frozen=True, tag=True):
    """Condenses nothing: a view that the model cannot read ends the run."""


class NamedCondenser(_Bounded, frozen=True, tag=True, kw_only=True, omit_defaults=True):
    """One of the runtime's own condensers, by its name."""

    name: str


class PipelineCondenser(Given, frozen=True, tag=True):
    """Several, one after the other, until the view is short enough."""

    condensers: tuple[OneCondenser, ...]

    def __post_init__(self) -> None:
        if isinstance(self.condensers, list | tuple):
            force_setattr(self, "condensers", tuple(as_condenser(one) for one in self.condensers))
        Given.__post_init__(self)
        if not self.condensers:
            raise ConfigurationError("PipelineCondenser(condensers=...): give at least one")


OneCondenser: TypeAlias = LLMSummarizingCondenser | ObservationMaskingCondenser | NamedCondenser | NoOpCondenser
BoundedCondenser: TypeAlias = LLMSummarizingCondenser | ObservationMaskingCondenser | NamedCondenser
AnyCondenser: TypeAlias = OneCondenser | PipelineCondenser


def as_condenser(given: Any) -> Any:
    """A condenser that was given by its name, or None, which condenses nothing; anything else as it is."""
    if given is None:
        return NoOpCondenser()
    return NamedCondenser(name=given) if isinstance(given, str) else given


def read_condenser(given: Any) -> AnyCondenser | None:
    """A condenser as a file names it: with its `type`, or the usual one with other bounds; None where it cannot be.

    A file says no model: it could say where keys and conversations go. Nor does it name the runtime's own condensers.
    """
    if given is None:
        return LLMSummarizingCondenser()
    named = {"type": given} if isinstance(given, str) else given
    try:
        made: AnyCondenser = msgspec.convert({"type": LLMSummarizingCondenser.__name__} | named, AnyCondenser)
    except (ConfigurationError, TypeError, msgspec.ValidationError):
        return None
    return None if summarizers(made) or named_condensers(made) else made


def stages(condenser: AnyCondenser) -> Iterator[BoundedCondenser]:
    """The condensers that do something, in their order."""
    for one in condenser.condensers if isinstance(condenser, PipelineCondenser) else (condenser,):
        if not isinstance(one, NoOpCondenser):
            yield one


def most_events(condenser: AnyCondenser) -> int | None:
    """Events from which on a view is condensed; None: it never is for their number."""
    return min((one.max_size for one in stages(condenser) if isinstance(one, _Bounded)), default=None)


def named_condensers(condenser: AnyCondenser) -> list[str]:
    """The names of the runtime's own condensers in it."""
    return [one.name for one in stages(condenser) if isinstance(one, NamedCondenser)]


def summarizers(condenser: AnyCondenser) -> tuple[AnyLLM, ...]:
    """The models besides the agent's own that it calls."""
    found = (one.llm for one in stages(condenser) if isinstance(one, LLMSummarizingCondenser))
    return tuple(llm for llm in found if llm is not None)
