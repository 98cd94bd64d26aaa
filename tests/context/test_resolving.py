"""What an agent is told, decided from what was read."""

from __future__ import annotations

from typing import Any

import pytest

from agentrt import Agent, LLMSummarizingCondenser, NoOpCondenser
from agentrt.context.resolving import as_agent, resolved
from agentrt.specs import LLM, AgentContext
from agentrt.specs.agent_file import AgentFile
from agentrt.specs.context import Gathered, Offer
from agentrt.specs.mcp import MCPServer

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


@pytest.mark.parametrize("agreed", [(), ("d",)])
def test_what_a_file_of_servers_has_for_other_programs_is_told_once(agreed: tuple[str, ...]) -> None:
    own = MCPServer(command="x", ignored=("description",))
    theirs = MCPServer(command="y", ignored=("autoApprove",))
    offer = Offer(digest="d", name="n", path=".mcp.json", servers={"theirs": theirs, "other": MCPServer(command="z")})
    agent = Agent(LLM("scripted"), mcp_servers={"own": own})
    told = resolved(agent, AgentContext(), Gathered(offers=(offer,)), agreed, lambda name: None, lambda name: None)
    assert [(problem.path, problem.what) for problem in told.event.problems] == [
        ("mcp_servers", "the server 'own' has fields that are not used here: description"),
        (
            ".mcp.json",
            "the server 'theirs' has fields that are not used here: autoApprove."
            " Rules approve calls in advance, a server's file does not",
        ),
    ]
