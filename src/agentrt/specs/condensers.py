"""Condensers: when and how an agent's view of its conversation is shortened."""

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
"""The share of a model's context window that a view may fill before it is condensed."""


class CondensationReason(StrEnum):
    """The reason for condensing a view."""

    REQUEST = "request"
    """A user requested it, or the model reported that the view is too long."""
    EVENTS = "events"
    """The view has more events than `max_size`."""
    TOKENS = "tokens"
    """The view has more tokens than `max_tokens`, or than 0.8 of the model's context window."""


class _ByTokens(Given, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the condensers that start on their own."""

    max_tokens: Some | None = None
    """The number of tokens at which a view is condensed, to half of that; None: 0.8 of the model's context window, if
    known.
    """
    minimum_progress: Share = 0.1
    """The share of a view that a condensation must remove to be worthwhile."""


class _Bounded(_ByTokens, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the condensers that remove events from a view."""

    max_size: Some = 240
    """The number of events at which a view is condensed, to half of that."""
    keep_first: Count = 2
    """The number of events kept at the beginning: at least the instructions and the first message."""
    standing_share: Share = 0.1
    """The share of the context window for texts that stay in force: activated skills, the rules of directories, the
    plan. They are put back after the summary, most recent first, and the summary names those without room.
    """

    def __post_init__(self) -> None:
        Given.__post_init__(self)
        if self.max_size // 2 - self.keep_first - 1 <= 0:
            kind, least = type(self).__name__, 2 * (self.keep_first + 2)
            raise ConfigurationError(
                f"{kind}(max_size={self.max_size}, keep_first={self.keep_first}) leaves no room after a condensation:"
                f" max_size must be {least} at least"
            )


class LLMSummarizingCondenser(_Bounded, frozen=True, tag=True, kw_only=True, omit_defaults=True):
    """Replaces the oldest part of the view with a summary written by a model.

    If no cut is worthwhile but the view must become shorter, the whole view is summarized. Each event's text is then
    cut to `hard_context_reset_context_scaling` of its length, again and again, at most `hard_context_reset_max_retries`
    times.
    """

    llm: AnyLLM | None = None
    """The model that writes the summary. None: the agent's model, which has most of the prompt in its cache."""
    hard_context_reset_max_retries: Count = 5
    hard_context_reset_context_scaling: Share = 0.8

    def __post_init__(self) -> None:
        force_setattr(self, "llm", as_llm(self.llm))
        _Bounded.__post_init__(self)


class ObservationMaskingCondenser(_ByTokens, frozen=True, tag=True, kw_only=True, omit_defaults=True):
    """Replaces old output and images in results with a note; the calls stay.

    It calls no model and removes no events. It starts on tokens alone. If it cannot shorten the view enough, it does
    nothing: combine it with another condenser in a pipeline.
    """

    attention_window: Count = 20
    """The number of newest results that stay complete."""


class NoOpCondenser(Given, frozen=True, tag=True):
    """Condenses nothing; a view that is too long for the model ends the run."""


class NamedCondenser(_Bounded, frozen=True, tag=True, kw_only=True, omit_defaults=True):
    """A condenser of the runtime's own, by name."""

    name: str


class PipelineCondenser(Given, frozen=True, tag=True):
    """Several condensers, applied one after the other until the view is short enough."""

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
    """Convert the name of a condenser to a condenser, and None to one that condenses nothing; return other values as
    they are.
    """
    if given is None:
        return NoOpCondenser()
    return NamedCondenser(name=given) if isinstance(given, str) else given


def read_condenser(given: Any) -> AnyCondenser | None:
    """Read a condenser from a file: by its `type`, or the default one with other settings; None if it is invalid.

    The caller decides about a model in it (`summarizers`), which could decide where keys and conversations are sent. A
    file may not name a condenser of the runtime's own.
    """
    if given is None:
        return LLMSummarizingCondenser()
    from .shorthand import in_full  # few files have one

    try:
        named = {"type": given} if isinstance(given, str) else _tagged(given, LLMSummarizingCondenser.__name__)
        full = in_full(named, AnyCondenser)
        made: AnyCondenser = msgspec.convert(full, AnyCondenser)
    except (ConfigurationError, TypeError, AttributeError, msgspec.ValidationError):
        return None
    return None if named_condensers(made) else made


def _tagged(given: dict[str, Any], default: str) -> dict[str, Any]:
    """Return a condenser or a model of a file with its `type`, which the OpenHands SDK calls `kind`."""
    made = {"type": given.get("kind", default)} | {key: one for key, one in given.items() if key != "kind"}
    return made | {"llm": _tagged(made["llm"], "LLM")} if isinstance(made.get("llm"), dict) else made


def stages(condenser: AnyCondenser) -> Iterator[BoundedCondenser]:
    """Yield the condensers that do something, in order."""
    for one in condenser.condensers if isinstance(condenser, PipelineCondenser) else (condenser,):
        if not isinstance(one, NoOpCondenser):
            yield one


def most_events(condenser: AnyCondenser) -> int | None:
    """Return the number of events at which a view is condensed; None: the number does not matter."""
    return min((one.max_size for one in stages(condenser) if isinstance(one, _Bounded)), default=None)


def named_condensers(condenser: AnyCondenser) -> list[str]:
    """Return the names of the runtime's own condensers in it."""
    return [one.name for one in stages(condenser) if isinstance(one, NamedCondenser)]


def summarizers(condenser: AnyCondenser) -> tuple[AnyLLM, ...]:
    """Return the models that it calls, besides the agent's own."""
    found = (one.llm for one in stages(condenser) if isinstance(one, LLMSummarizingCondenser))
    return tuple(llm for llm in found if llm is not None)
