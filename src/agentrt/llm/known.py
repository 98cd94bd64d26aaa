"""Converts litellm's knowledge of a model to `Capabilities`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..context.budget import TOKENS_A_SECOND
from ..specs import LLM, Capabilities
from ..specs.llm import known_of

_MARKING = ("anthropic", "bedrock", "bedrock_converse", "vertex_ai", "openrouter", "databricks")
"""Providers that need marks for the cacheable part of a Claude model's prompt."""

_UNKNOWN = {
    "mode": "chat",
    "supports_function_calling": True,
    "supports_native_streaming": True,
    "supports_reasoning": True,
    "supports_vision": True,
}
"""The entry for a model that litellm does not know. Without it, litellm allows neither streaming nor thinking."""

_PRICES = ("input_cost_per_token", "output_cost_per_token", "input_cost_per_audio_token", "input_cost_per_second")

_OURS = "registered_by_agentrt"
"""A member that marks an entry as made by this package: it contains no knowledge of the model."""


def known(litellm: ModuleType, llm: LLM, provider: str) -> Capabilities:
    """Return what is known of a model; a model unknown to litellm is assumed to have common capabilities."""
    try:
        info = litellm.get_model_info(llm.model)
    except Exception:  # litellm raises a bare Exception, or one of its own, for a model that it has no entry for
        if llm.api == "responses":
            litellm.register_model({llm.model: _UNKNOWN | {"litellm_provider": provider, _OURS: True}})
        return known_of(llm)
    entry = litellm.model_cost.get(info["key"], info)  # in `info` a price that nobody knows is 0
    if entry.get(_OURS):
        return known_of(llm)
    return capabilities(llm, provider, info | {name: entry.get(name) for name in _PRICES})


def capabilities(llm: LLM, provider: str, entry: dict[str, Any] | None) -> Capabilities:
    """Return a model's capabilities from its entry in the catalogue; a missing price stays unknown."""
    if entry is None:
        return known_of(llm)
    official = provider == "openai" and llm.base_url is None
    endpoints = entry.get("supported_endpoints") or ()
    reasoning = bool(entry.get("supports_reasoning"))
    priced = llm.base_url is None or bool(entry.get("input_cost_per_token") or entry.get("input_cost_per_second"))
    return known_of(
        llm,
        Capabilities(
            native_tool_calling=bool(entry.get("supports_function_calling")),
            vision=bool(entry.get("supports_vision")),
            reasoning=reasoning,
            responses=entry.get("mode") == "responses" or (official and reasoning and "/v1/responses" in endpoints),
            cache_marks=provider in _MARKING and "claude" in llm.model and bool(entry.get("supports_prompt_caching")),
            max_input_tokens=entry.get("max_input_tokens"),
            max_output_tokens=entry.get("max_output_tokens"),
            input_cost=_heard(entry) or entry.get("input_cost_per_token") if priced else None,
            output_cost=_written(entry) if priced else None,
            cache_read_cost=entry.get("cache_read_input_token_cost"),
            cache_write_cost=entry.get("cache_creation_input_token_cost"),
        ),
    )


def _heard(entry: dict[str, Any]) -> float | None:
    """Return the price of a token of sound, for a model that transcribes speech (see `TOKENS_A_SECOND`)."""
    if entry.get("mode") != "audio_transcription":
        return None
    by_token: float | None = entry.get("input_cost_per_audio_token")
    by_second = max(entry.get("input_cost_per_second") or 0.0, entry.get("output_cost_per_second") or 0.0)
    return by_token or (by_second / TOKENS_A_SECOND or None)


def _written(entry: dict[str, Any]) -> float | None:
    """Return the price of a token of the answer; a model priced by the second has its text for free."""
    price: float | None = entry.get("output_cost_per_token")
    return 0.0 if price is None and _heard(entry) is not None else price
