"""`agentrt models`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from agentrt.cli.main import commands

pytestmark = pytest.mark.simulated


def printed(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(commands, ["models", *arguments], env={"OPENAI_API_KEY": "", "COLUMNS": "120"})
    assert result.exit_code == code, result.output
    return result.output


def test_models_are_found_by_their_names() -> None:
    said = printed("list", "claude", "opus", "4-5")
    assert "anthropic/claude-opus-4-5" in said
    assert "USD a million tokens: in, out" in said
    assert "no known model matches" in printed("list", "no-such-model", code=1)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (("openai/gpt-5.5",), ("called          directly", "OpenAI Responses", "OPENAI_API_KEY (not set)")),
        (("anthropic/claude-opus-4-5",), ("Anthropic messages", "context window  200,000 tokens")),
        (
            ("hosted_vllm/mine", "--base-url", "http://127.0.0.1:1/v1"),
            ("OpenAI chat completions", "price           unknown"),
        ),
        (
            ("openai/mine", "--base-url", "http://127.0.0.1:1/v1"),
            ("OPENAI_API_KEY (not set, and not needed)", "context window  unknown\n", "no known model has this name\n"),
        ),
        (
            ("gemini/gemini-3.1-pro-previews",),
            (
                "no known model has this name: nearest gemini/gemini-3.1-pro-preview",
                "price           unknown",
                "(assumed)",
            ),
        ),
        (("bedrock/anthropic.claude-3-haiku-20240307-v1:0",), ("called          through litellm",)),
    ],
)
def test_a_model_is_shown_with_its_way(arguments: tuple[str, ...], lines: tuple[str, ...]) -> None:
    said = printed("show", *arguments)
    for line in lines:
        assert line in said, said


def test_a_name_that_nobody_knows_is_told() -> None:
    assert "unknown model 'nonsense'" in printed("show", "nonsense", code=1)


def test_a_known_model_is_not_called_unknown() -> None:
    for name in ("openai/gpt-5.5", "claude-opus-4-5", "gemini/gemini-3.1-pro-preview"):
        assert "no known model" not in printed("show", name)


@pytest.mark.pure
def test_the_examples_stand_on_lines_of_their_own() -> None:
    assert "models list claude\n" in printed("--help")
