"""A misspelled model is told with the one that was meant; a later version of a known one is not a mistake."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt import LLM
from agentrt.errors import MissingKey
from agentrt.llm.models_client import ModelsClient
from agentrt.llm.nearest import is_provider, nearest_model

KNOWN = (
    "anthropic/claude-opus-4-5",
    "openai/gpt-4o",
    "openai/gpt-5.5",
    "bedrock/anthropic.claude-3-7-sonnet-v1:0",
    "amazon/nova-lite",
)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("opnai/gpt-5.5", "openai/gpt-5.5"),
        ("openai/gtp-4o", "openai/gpt-4o"),
        ("gtp-4o", "openai/gpt-4o"),
        ("anthropic/claud-opus-4-5", "anthropic/claude-opus-4-5"),
        ("openai/gpt-55", "openai/gpt-5.5"),
        ("anthropic/claude-opus-45", "anthropic/claude-opus-4-5"),
        ("nova-lite", "amazon/nova-lite"),
        ("anthropic/claude-opus-4-9", None),
        ("openai/gpt-6", None),
        ("bedrock/anthropic.claude-3-sonnet-v1:0", None),
        ("openai/gpt-4o", None),
        ("claude-opus-4-5", None),
        ("mine/my-own", None),
        ("", None),
    ],
)
def test_the_model_that_was_meant(model: str, meant: str | None) -> None:
    assert nearest_model(model, KNOWN) == meant


@pytest.mark.pure
@given(st.text(max_size=30))
def test_it_is_a_known_one_or_none(model: str) -> None:
    assert nearest_model(model, KNOWN) in (None, *KNOWN)


@pytest.mark.simulated
def test_providers() -> None:
    assert all(is_provider(name, KNOWN) for name in ("openai", "bedrock", "azure", "hosted_vllm", "sagemaker"))
    assert not is_provider("opnai", KNOWN)


_UNKNOWN = """
import anyio, sys
from agentrt import LLM
from agentrt.errors import UnknownModel
from agentrt.llm.models_client import ModelsClient
async def main():
    client = ModelsClient({})
    for model in sys.argv[1:]:
        try:
            await client.prepare(LLM(model))
        except UnknownModel as error:
            print(error)
    print("litellm" in sys.modules)
anyio.run(main)
"""


@pytest.mark.real
def test_an_unknown_model_is_told_without_litellm() -> None:
    models = ("opnai/gpt-4o", "openai/gtp-4o", "nonsense", "nobody/nothing")
    said = subprocess.run(
        [sys.executable, "-c", _UNKNOWN, *models], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [line.partition(": ")[2] for line in said[:2]] == ["did you mean 'openai/gpt-4o'?"] * 2
    assert all("name its provider" in line for line in said[2:4])
    assert said[4:] == ["False"], "it would take seconds"


@pytest.mark.real
async def test_a_later_version_lacks_its_key_only() -> None:
    client = ModelsClient({})
    try:
        with pytest.raises(MissingKey):
            await client.prepare(LLM("anthropic/claude-opus-9-9"))
    finally:
        await client.aclose()
