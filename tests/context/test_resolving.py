"""What an agent is told, decided from what was read."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agentrt import Agent, LLMSummarizingCondenser, NoOpCondenser
from agentrt.context.resolving import as_agent, resolved
from agentrt.specs import LLM, AgentContext, Hook, HookEvent
from agentrt.specs.agent_file import AgentFile
from agentrt.specs.context import Gathered, Offer
from agentrt.specs.mcp import MCPServer
from agentrt.specs.skill import Origin

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


@pytest.mark.parametrize("given", [{"max_size": 2}, "mine", {"model": "x"}])
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


OWN_MODEL = {"llm": "cheap", "max_size": 80}


def file_of(origin: Origin) -> AgentFile:
    hooks = (Hook(event=HookEvent.STOP, command="x"),)
    return AgentFile(name="digger", description="", prompt="Dig.", origin=origin, hooks=hooks, condenser=OWN_MODEL)


@pytest.mark.parametrize(
    ("origin", "agreed"), [("user", False), ("project", False), ("project", True), ("plugin", True)]
)
def test_hooks_and_a_model_that_reads_along_are_the_users_own_or_agreed_to(origin: Origin, agreed: bool) -> None:
    file, saved = file_of(origin), LLM("openai/small", usage_id="cheap")
    condenser = LLMSummarizingCondenser(llm=LLM("cheap"), max_size=80)
    offer = Offer(digest="d", name="n", agent="digger", hooks=file.hooks, condenser=condenser)
    gathered = Gathered(agents=(file,), offers=() if origin == "user" else (offer,))

    def told(agent: Agent) -> Agent:
        agreements = ("d",) if agreed else ()
        profile = {"cheap": saved}.get
        return resolved(agent, AgentContext(), gathered, agreements, lambda name: None, profile).agent

    has = origin == "user" or agreed
    made = told(Agent(LLM("scripted"))).agents["digger"]
    assert made.hooks == (file.hooks if has else ())
    assert made.condenser == (replace(condenser, llm=saved) if has else LLMSummarizingCondenser())
    own = Agent(LLM("own"))
    kept = told(Agent(LLM("scripted"), agents={"digger": own}))
    assert kept.agents["digger"] == own, "an agent of the program's own has nothing of a file"
    assert kept.hooks == ()
