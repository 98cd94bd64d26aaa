"""Which way a model is called, by its name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.llm.providers import PROVIDERS, named, provider_of, way
from agentrt.specs import LLM

pytestmark = pytest.mark.pure

AT = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("openai/gpt-5.5", ("openai", "gpt-5.5")),
        ("openrouter/anthropic/claude-opus-4-5", ("openrouter", "anthropic/claude-opus-4-5")),
        ("gpt-4o", ("openai", "gpt-4o")),
        ("chatgpt-4o-latest", ("openai", "chatgpt-4o-latest")),
        ("o3-mini", ("openai", "o3-mini")),
        ("claude-opus-4-5", ("anthropic", "claude-opus-4-5")),
        ("gptx", ("", "gptx")),
        ("o32", ("", "o32")),
        ("gpt-3.5-turbo-instruct", ("", "gpt-3.5-turbo-instruct")),
        ("claude-sonnet-4-5-20250929-v1:0", ("", "claude-sonnet-4-5-20250929-v1:0")),
        ("llama3", ("", "llama3")),
        ("", ("", "")),
    ],
)
def test_a_name_tells_its_provider(model: str, wanted: tuple[str, str]) -> None:
    assert named(model) == wanted


@given(st.sampled_from(sorted(PROVIDERS)), st.text(min_size=1))
def test_what_follows_on_the_provider_is_the_name(provider: str, name: str) -> None:
    assert named(f"{provider}/{name}") == (provider, name)
    assert provider_of(LLM(model=f"{provider}/{name}")) is PROVIDERS[provider]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_is_called_directly_where_its_address_is_known(provider: str) -> None:
    known = bool(PROVIDERS[provider].url)
    assert way(LLM(model=f"{provider}/x")) == ("wire" if known else "litellm")
    assert way(LLM(model=f"{provider}/x", base_url=AT)) == "wire"
    assert way(LLM(model=f"{provider}/x", client="litellm")) == "litellm"


@pytest.mark.parametrize("model", ["vertex_ai/gemini-2.5-pro", "bedrock/x", "azure/gpt-4o", "llama3"])
def test_every_other_provider_is_called_through_litellm(model: str) -> None:
    assert way(LLM(model=model)) == way(LLM(model=model, base_url=AT)) == "litellm"
    assert way(LLM(model=model, client="wire")) == "wire"


def test_every_provider_is_complete() -> None:
    for name, provider in PROVIDERS.items():
        assert provider.keys, name
        assert not provider.url.endswith("/"), name
        assert provider.url or not provider.needs_key, name
