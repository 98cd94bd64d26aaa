"""Presets of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from agentrt import LLM, Agent, AgentContext, AlwaysConfirm
from agentrt.errors import ConfigurationError
from agentrt.specs import Tool
from agentrt.specs.llm import FallbackLLM
from agentrt.specs.presets import PRESETS, preset_for
from agentrt.specs.tool import ALWAYS
from agentrt.tools import BUILT_IN

pytestmark = pytest.mark.pure

TOOLS = Path(__file__).parents[2] / "docs/tools.md"
OFFERED = {name: kind.definition for name, kind in BUILT_IN.items()}


@pytest.mark.parametrize(
    ("model", "preset"),
    [
        ("openai/gpt-5.5", "gpt5"),
        ("openrouter/openai/gpt-5-codex", "gpt5"),
        ("gemini/gemini-3.1-pro-preview", "gemini"),
        ("vertex_ai/gemini-2.5-flash", "gemini"),
        ("anthropic/claude-opus-4-5", "default"),
        ("openai/gpt-4o", "default"),
        ("ollama/qwen3", "default"),
    ],
)
def test_a_model_has_the_preset_of_its_family(model: str, preset: str) -> None:
    assert preset_for(LLM(model=model)) == preset
    assert Agent.preset(llm=model).tools == PRESETS[preset].tools
    assert Agent.preset(llm=FallbackLLM((LLM(model=model), LLM(model="other/one")))).tools == PRESETS[preset].tools


def test_what_is_said_comes_before_the_family() -> None:
    agent = Agent.preset("gemini", llm="openai/gpt-5.5", description="Mends things.")
    assert Tool("read_file") in agent.tools
    assert agent.description == "Mends things."
    assert Agent.preset(llm="openai/gpt-5.5", tools=(Tool("terminal"),)).tools == (Tool("terminal"),)
    with pytest.raises(ConfigurationError, match="unknown preset 'nothing': choose one of default, gpt5"):
        Agent.preset("nothing", llm="x/y")  # type: ignore[arg-type]


def test_a_planner_is_told_to_plan() -> None:
    agent = Agent.preset("planning", llm="x/y", context=AgentContext(system_message_suffix="In French."))
    assert agent.context is not None
    assert agent.context.system_message_suffix.startswith("In French.\n\nYou plan a change")
    assert Agent.preset(llm="x/y").context is None


def test_codeact_has_code_and_somebody_who_browses() -> None:
    agent = Agent.preset("codeact", llm="x/y", confirmation=AlwaysConfirm())
    assert [tool.name for tool in agent.tools] == ["terminal", "ipython", "file_editor", "task"]
    assert "`ipython` runs Python in a kernel that stays" in (agent.system_prompt or "")
    browsing = agent.agents["browsing"]
    assert browsing.tools == PRESETS["browsing"].tools
    assert browsing.confirmation == AlwaysConfirm(), "it asks as the one that delegates does"
    assert Agent.preset("codeact", llm="x/y", system_prompt="Mine.").system_prompt == "Mine."


def test_a_demonstration_is_there_for_models_that_need_one() -> None:
    shown = Agent.preset(
        "codeact", llm="x/y", demonstration=True, context=AgentContext(system_message_suffix="Be kind.")
    )
    assert shown.context is not None
    assert shown.context.system_message_suffix.startswith("Be kind.\n\n# An example of how a task goes")
    assert Agent.preset("codeact", llm="x/y").context is None
    with pytest.raises(ConfigurationError, match="only the preset 'codeact'"):
        Agent.preset("default", llm="x/y", demonstration=True)


def tokens(names: Iterable[str]) -> int:
    """About how many tokens the definitions of tools take: a quarter of the characters of their JSON."""
    offered = [
        {"name": each.name, "description": each.description, "parameters": msgspec.json.decode(each.parameters)}
        for each in map(OFFERED.__getitem__, names)
    ]
    return len(json.dumps(offered)) // 4


@pytest.mark.simulated
@pytest.mark.parametrize("name", [*PRESETS, "all"])
def test_what_the_docs_say_of_the_size_of_definitions(name: str) -> None:
    names = OFFERED if name == "all" else (*(tool.name for tool in PRESETS[name].tools), *ALWAYS)
    row = re.search(rf"^\| `?{name}`? \|.*\| ([\d,]+) \|$", TOOLS.read_text(), re.MULTILINE)
    assert row is not None
    said = int(row[1].replace(",", ""))
    assert tokens(names) == pytest.approx(said, rel=0.05)
    assert said < 12_000
