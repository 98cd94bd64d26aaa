"""The catalogue says of each model what litellm says."""

from __future__ import annotations

import warnings

import msgspec
import pytest

from agentrt.llm.catalogue import Catalogue
from agentrt.llm.known import capabilities, known
from agentrt.llm.library import acquire, release
from agentrt.llm.providers import PROVIDERS, named, way
from agentrt.specs import LLM

pytestmark = pytest.mark.pure


def test_a_model_that_nobody_knows_has_no_entry() -> None:
    catalogue = Catalogue.read()
    assert catalogue.entry("openai/no-such-model") is None
    assert catalogue.entry("no-such-model") is None
    assert Catalogue({}).entry("openai/gpt-4o") is None


def test_a_model_is_found_with_its_provider_and_without() -> None:
    catalogue = Catalogue.read()
    with_it, without = catalogue.entry("openai/gpt-4o"), catalogue.entry("gpt-4o")
    assert with_it is not None
    assert with_it == without
    assert with_it["litellm_provider"] == "openai"
    assert catalogue.entry("openai/claude-opus-4-5") is None, "it is of another provider"


def test_a_name_for_the_newest_of_a_kind_is_that_model() -> None:
    one = b'{"litellm_provider":"anthropic","max_input_tokens":7}'
    rows = {"claude-x-latest": b'{"alias_of":"claude-x-5"}', "claude-x-5": one, "xai/a": b'{"alias_of":"xai/gone"}'}
    catalogue = Catalogue({name: msgspec.Raw(row) for name, row in rows.items()})
    for name in ("claude-x-latest", "anthropic/claude-x-latest"):
        assert catalogue.named(name) == ("anthropic", "claude-x-5")
        assert catalogue.entry(name) == {"litellm_provider": "anthropic", "max_input_tokens": 7}
    assert catalogue.named("openai/claude-x-latest") == ("openai", "claude-x-latest")
    assert catalogue.entry("xai/a") is None


@pytest.mark.long
async def test_every_model_of_these_providers_is_known_as_litellm_knows_it() -> None:
    catalogue, differ, counted = Catalogue.read(), dict[str, str](), 0
    litellm = await acquire()
    for name in _names(catalogue):
        llm = LLM(model=name)
        counted += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            called, provider = litellm.get_llm_provider(name)[:2]
            theirs = known(litellm, llm, provider), provider, called
        prefix, called = catalogue.named(name)
        ours = capabilities(llm, prefix, catalogue.entry(name)), prefix, called
        if ours != theirs:
            differ[name] = f"{ours} is not {theirs}"
    await release(litellm)
    assert counted > 400
    assert not differ, f"{len(differ)} of {counted}: {dict([*differ.items()][:5])}"


def _names(catalogue: Catalogue) -> list[str]:
    """All that are called directly, with their provider and, where it is told without, by their own name alone."""
    found = dict[str, None]()
    for name in catalogue.names:
        provider = (catalogue.entry(name) or {}).get("litellm_provider", named(name)[0])
        if provider in PROVIDERS:
            found[name if name.startswith(f"{provider}/") else f"{provider}/{name}"] = None
        if way(LLM(model=name)) == "wire":
            found[name] = None
    return [*found]
