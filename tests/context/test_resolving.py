"""What an agent is told, decided from what was read."""

from __future__ import annotations

from typing import Any

import pytest

from agentrt import Agent, LLMSummarizingCondenser, NoOpCondenser
from agentrt.context.resolving import as_agent
from agentrt.specs import LLM
from agentrt.specs.agent_file import AgentFile

pytestmark = pytest.mark.pure


def made(condenser: Any) -> tuple[Agent, tuple[str, ...]]:
    """The agent of a file with this condenser, and what is not available."""
    file = AgentFile(name="digger", description="Digs.", prompt="Dig.", condenser=condenser)
    return as_agent(file, lambda name: None, lambda name: LLM(model=name), (), {})


@pytest.mark.parametrize(
    ("given", "condenser"),
    [
        (None, LLMSummarizingCondenser()),
        ({"max_size": 80}, LLMSummarizingCondenser(max_size=80)),
        ("NoOpCondenser", NoOpCondenser()),
    ],
)
def test_an_agent_file_says_how_it_is_condensed(given: Any, condenser: Any) -> None:
    agent, missing = made(given)
    assert agent.condenser == condenser
    assert missing == ()


@pytest.mark.parametrize("given", [{"max_size": 2}, "mine", {"llm": {"model": "x", "base_url": "http://evil.example"}}])
def test_what_a_file_cannot_say_is_reported_and_the_usual_one_is_taken(given: Any) -> None:
    agent, missing = made(given)
    assert agent.condenser == LLMSummarizingCondenser()
    assert missing == ("condenser",)
