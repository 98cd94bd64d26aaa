"""The model that the command line uses if none is named. Pure."""

from __future__ import annotations

from collections.abc import Mapping

MODELS: Mapping[str, str] = {
    "OPENAI_API_KEY": "openai/gpt-5.5",
    "ANTHROPIC_API_KEY": "anthropic/claude-opus-4-5",
    "GEMINI_API_KEY": "gemini/gemini-3.1-pro-preview",
}
"""The default model by the environment variable of its provider's key; the first one is used if none is set."""

WORDS = f"$AGENTRT_MODEL, else a model of the provider whose key is set, else {next(iter(MODELS.values()))}"
"""The rule of `default_model` for `--help`."""


def default_model(environment: Mapping[str, str]) -> str:
    """Return `AGENTRT_MODEL`, else the first model whose key is in the environment, else the first one."""
    if named := environment.get("AGENTRT_MODEL"):
        return named
    return next((model for key, model in MODELS.items() if environment.get(key)), next(iter(MODELS.values())))
