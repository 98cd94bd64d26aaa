"""`LLM`: which model answers and how, as frozen configuration."""

from __future__ import annotations

import msgspec


class LLM(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model and the settings of its calls.

    `model` is any name that litellm knows, with its provider: "anthropic/claude-opus-4-5", "openai/gpt-5.5". The key is
    never part of this: it comes from the environment variable `api_key_env`, or from the provider's own one.
    """

    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; None: the provider's usual one."""
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    timeout: float = 300.0
    """Seconds for one call."""
    num_retries: int = 5
    """How often a call that failed in a way that may pass is tried again."""
    retry_min_wait: float = 1.0
    retry_max_wait: float = 64.0
    """Bounds of the wait before a retry, in seconds; it doubles with each, with jitter."""
    stream: bool = True
    input_cost_per_token: float | None = None
    output_cost_per_token: float | None = None
    """Prices in USD, for models that litellm has none for."""
    usage_id: str = "default"
    """Under which name usage and cost are summed."""
