"""The models that litellm knows, by the names that an `LLM` takes, with their prices. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..specs import LLM, Capabilities

_SPOKEN = ("chat", "responses")
"""The modes of models that an agent can use."""

_PROVIDERS = {"bedrock_converse": "bedrock", "cohere_chat": "cohere"}
"""Providers whose name in litellm's table differs from the one in a model's name."""


_USUAL = ("anthropic", "openai", "gemini", "mistral", "deepseek", "xai")
"""Providers of their own models, which are listed before resellers because people search for them more often."""


class KnownModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model and what is known of it; costs in USD per token, null if unknown."""

    model: str
    vision: bool = False
    """Whether it accepts images."""
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    input_cost: float | None = None
    output_cost: float | None = None

    @property
    def provider(self) -> str:
        """The provider of the model."""
        return self.model.partition("/")[0]


def known_models(table: Mapping[str, Mapping[str, Any]]) -> tuple[KnownModel, ...]:
    """Return the models of litellm's `model_cost` that an agent can use, by name."""
    found = {name: _known(name, entry) for key, entry in table.items() if (name := _name(key, entry))}
    return tuple(found[name] for name in sorted(found))


def known_as(llm: LLM, known: Capabilities) -> KnownModel:
    """Return what is known of a model as configured."""
    return KnownModel(
        model=llm.model,
        vision=known.vision,
        max_input_tokens=known.max_input_tokens,
        max_output_tokens=known.max_output_tokens,
        input_cost=known.input_cost,
        output_cost=known.output_cost,
    )


def matching(models: Iterable[KnownModel], query: str, first: Collection[str] = ()) -> Sequence[KnownModel]:
    """Return the models whose names contain all words of the query: providers named in `first` first, then short names
    first.
    """
    words = query.lower().split()
    found = [one for one in models if all(word in one.model.lower() for word in words)]
    return sorted(found, key=lambda one: (_rank(one.provider, first), len(one.model), one.model))


def _rank(provider: str, first: Collection[str]) -> int:
    return 0 if provider in first else 1 if provider in _USUAL else 2


def _name(key: str, entry: Mapping[str, Any]) -> str:
    """Return the name of a model with its provider; "" for an entry that is not a model."""
    said = entry.get("litellm_provider")
    if entry.get("mode") not in _SPOKEN or not isinstance(said, str):
        return ""
    provider = "vertex_ai" if said.startswith("vertex_ai") else _PROVIDERS.get(said, said)
    return key if key.startswith(f"{provider}/") else f"{provider}/{key}"


def _known(name: str, entry: Mapping[str, Any]) -> KnownModel:
    return KnownModel(
        model=name,
        vision=bool(entry.get("supports_vision")),
        max_input_tokens=_number(entry.get("max_input_tokens"), int),
        max_output_tokens=_number(entry.get("max_output_tokens"), int),
        input_cost=_number(entry.get("input_cost_per_token"), float),
        output_cost=_number(entry.get("output_cost_per_token"), float),
    )


def _number(given: Any, kind: type[Any]) -> Any:
    """Return a number of the table; None for the text that some entries have instead."""
    return kind(given) if isinstance(given, int | float) and not isinstance(given, bool) else None
