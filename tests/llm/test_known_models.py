"""The table of litellm as models that an agent may have."""

from __future__ import annotations

from typing import Any

import pytest

from agentrt.llm import ModelsClient
from agentrt.llm.known_models import KnownModel, known_models, matching

pytestmark = pytest.mark.pure

TABLE: dict[str, dict[str, Any]] = {
    "gpt-9": {
        "mode": "responses",
        "litellm_provider": "openai",
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 2e-6,
        "max_input_tokens": 1000,
        "supports_vision": True,
    },
    "gemini/fast": {"mode": "chat", "litellm_provider": "gemini", "max_input_tokens": "many"},
    "claude-9": {"mode": "chat", "litellm_provider": "vertex_ai-anthropic_models"},
    "us.nova": {"mode": "chat", "litellm_provider": "bedrock_converse"},
    "painter": {"mode": "image_generation", "litellm_provider": "openai"},
    "sample_spec": {"mode": "one of: chat, embedding", "litellm_provider": "one of them"},
}


def test_names_have_their_provider_and_prices_that_nobody_knows_are_none() -> None:
    assert known_models(TABLE) == (
        KnownModel(model="bedrock/us.nova"),
        KnownModel(model="gemini/fast"),
        KnownModel(model="openai/gpt-9", vision=True, max_input_tokens=1000, input_cost=1e-6, output_cost=2e-6),
        KnownModel(model="vertex_ai/claude-9"),
    )


def test_all_words_are_in_the_name_and_models_that_can_be_called_come_first() -> None:
    models = known_models(TABLE)
    assert [one.model for one in matching(models, "9 OPEN")] == ["openai/gpt-9"]
    assert [one.model for one in matching(models, "", {"vertex_ai"})] == [
        "vertex_ai/claude-9",
        "gemini/fast",
        "openai/gpt-9",
        "bedrock/us.nova",
    ]


@pytest.mark.simulated
async def test_what_litellm_really_knows() -> None:
    client = ModelsClient({"ANTHROPIC_API_KEY": "none"})
    found = await client.models("claude")
    assert len(found) > 20
    assert found[0].provider == "anthropic"
    assert any(one.input_cost and one.output_cost and one.max_input_tokens for one in found)
    await client.aclose()
