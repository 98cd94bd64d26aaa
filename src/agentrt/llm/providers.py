"""The providers that are called directly: their addresses, wire formats, and environment variables for keys. Pure.

Sources: the API references of each. Every other provider is called through litellm.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from ..specs import LLM

Way: TypeAlias = Literal["wire", "litellm"]
Spoken: TypeAlias = Literal["openai", "anthropic", "gemini"]


class Provider(msgspec.Struct, frozen=True):
    """`url` is the base for paths such as `/chat/completions`; "" if `LLM.base_url` must provide it."""

    url: str
    keys: tuple[str, ...] = ()
    """Environment variables for the key; the first one that is set is used."""
    speaks: Spoken = "openai"
    needs_key: bool = True
    counts_streams: bool = True
    """Whether the usage of a stream must be requested with `stream_options`; otherwise it is always reported."""
    suffix: str = ""
    """The prefix for paths if `LLM.base_url` is the address that other programs use."""


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "anthropic": Provider("https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "anthropic"),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini"
    ),
    "openrouter": Provider("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "groq": Provider("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "deepseek": Provider("https://api.deepseek.com", ("DEEPSEEK_API_KEY",)),
    "mistral": Provider("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), counts_streams=False),
    "xai": Provider("https://api.x.ai/v1", ("XAI_API_KEY",)),
    "together_ai": Provider("https://api.together.xyz/v1", ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY")),
    "fireworks_ai": Provider("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY")),
    "cerebras": Provider("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "moonshot": Provider("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",)),
    "ollama": Provider("http://127.0.0.1:11434", ("OLLAMA_API_KEY",), needs_key=False, suffix="/v1"),
    "ollama_chat": Provider("http://127.0.0.1:11434", ("OLLAMA_API_KEY",), needs_key=False, suffix="/v1"),
    "hosted_vllm": Provider("", ("HOSTED_VLLM_API_KEY",), needs_key=False),
    "lm_studio": Provider("http://127.0.0.1:1234/v1", ("LM_STUDIO_API_KEY",), needs_key=False),
    "llamafile": Provider("http://127.0.0.1:8080/v1", ("LLAMAFILE_API_KEY",), needs_key=False),
}
"""Providers by the part of a model's name before its first "/"."""

_BARE = (
    (re.compile(r"(?!.*-instruct)(gpt|chatgpt|o[134])\b"), "openai"),
    (re.compile(r"(?!.*-v\d+:\d+$)claude\b"), "anthropic"),
)
"""Patterns of model names without a provider, other than those of Bedrock and of OpenAI's interface before chat."""


def named(model: str) -> tuple[str, str]:
    """Return the provider of a model, "" if its name does not tell, and the model's name there."""
    provider, slash, name = model.partition("/")
    if slash:
        return provider, name
    return next((found for pattern, found in _BARE if pattern.match(model)), ""), model


def provider_of(llm: LLM) -> Provider | None:
    """Return the provider if the model is called directly, else None."""
    return PROVIDERS.get(named(llm.model)[0])


def way(llm: LLM) -> Way:
    """Return how a model is called: directly, or through litellm. `LLM.client` decides if it is given."""
    if llm.client != "auto":
        return llm.client
    provider = provider_of(llm)
    return "wire" if provider is not None and (provider.url or llm.base_url) else "litellm"
