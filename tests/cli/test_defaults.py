"""The model of a command that names none."""

from __future__ import annotations

import pytest

from agentrt.cli.defaults import MODELS, default_model

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("environment", "model"),
    [
        ({}, MODELS["OPENAI_API_KEY"]),
        ({"OPENAI_API_KEY": ""}, MODELS["OPENAI_API_KEY"]),
        ({"ANTHROPIC_API_KEY": "k"}, MODELS["ANTHROPIC_API_KEY"]),
        ({"OPENAI_API_KEY": "", "GEMINI_API_KEY": "k"}, MODELS["GEMINI_API_KEY"]),
        ({"GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k"}, MODELS["OPENAI_API_KEY"]),
        ({"ANTHROPIC_API_KEY": "k", "AGENTRT_MODEL": "openai/mine"}, "openai/mine"),
        ({"ANTHROPIC_API_KEY": "k", "AGENTRT_MODEL": ""}, MODELS["ANTHROPIC_API_KEY"]),
    ],
)
def test_the_key_that_is_set_chooses_the_model(environment: dict[str, str], model: str) -> None:
    assert default_model(environment) == model


def test_every_default_belongs_to_its_key() -> None:
    for key, model in MODELS.items():
        assert key.removesuffix("_API_KEY").lower() == model.partition("/")[0]
