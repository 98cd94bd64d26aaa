"""JSON may have the short forms that constructors take."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentrt import LLM, Agent, AgentContext, PluginSource, Tool
from agentrt.specs import AnyLLM
from agentrt.specs.agent import replaced
from agentrt.specs.condensers import NamedCondenser
from agentrt.specs.llm import FallbackLLM
from agentrt.specs.shorthand import decode_short

pytestmark = pytest.mark.pure


def read(value: Any, kind: Any) -> Any:
    return decode_short(msgspec.json.encode(value), kind, lambda data: msgspec.json.decode(data, type=kind))


def test_a_text_stands_for_a_model_and_for_a_tool() -> None:
    given = {
        "llm": "openai/gpt-5.5",
        "tools": ["terminal", {"name": "file_editor"}],
        "condenser": "mine",
        "context": {"plugins": ["github:one/other"]},
        "agents": {"helper": {"llm": {"type": "FallbackLLM", "llms": ["openai/a", {"type": "LLM", "model": "b"}]}}},
    }
    assert read(given, Agent) == Agent(
        LLM("openai/gpt-5.5"),
        tools=(Tool("terminal"), Tool("file_editor")),
        condenser=NamedCondenser(name="mine"),
        context=AgentContext(plugins=(PluginSource("github:one/other"),)),
        agents={"helper": Agent(FallbackLLM((LLM("openai/a"), LLM("b"))))},
    )


def test_what_fits_is_read_as_it_is() -> None:
    """A text where a text belongs stays one, also beside a short form."""
    agent = Agent(LLM("openai/gpt-5.5"), description="terminal", tools=())
    assert read(msgspec.to_builtins(agent), Agent) == agent
    assert read({"llm": "openai/gpt-5.5", "description": "terminal", "tools": []}, Agent) == agent


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"llm": {"model": "openai/a"}}, "`type`, which is one of 'LLM', 'FallbackLLM', 'RouterLLM' - at `$.llm`"),
        (
            {"llm": {"type": "FallbackLLM", "llms": [{"model": "a"}]}},
            "`type`, which is one of 'LLM', 'FallbackLLM', 'RouterLLM' - at `$.llm.llms[0]`",
        ),
        ({"llm": "a", "confirmation": {}}, "`type`, which is one of 'NeverConfirm', 'AlwaysConfirm', 'ConfirmRisky'"),
        ({"llm": 5}, "got `int` - at `$.llm`"),
        ({"llm": "a", "tools": [5]}, "Expected `object`, got `int` - at `$.tools[0]`"),
        ({"llm": "a", "tool": []}, "unknown field `tool`, perhaps `tools` - at `$`"),
        ({"llm": {"type": "LLM", "model": "a", "temprature": 1}}, "`temprature`, perhaps `temperature` - at `$.llm`"),
        ({"llm": "a", "limits": {"steps": 1}}, "unknown field `steps`, perhaps `max_steps` - at `$.limits`"),
        ({"llm": {"type": "Nonsense"}}, "Invalid value 'Nonsense' - at `$.llm.type`"),
    ],
)
def test_an_error_says_what_is_missing_and_where(value: Any, told: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        read(value, Agent)
    assert told in str(raised.value)


def test_a_model_alone() -> None:
    assert read("openai/a", AnyLLM) == LLM("openai/a")
    assert read("openai/a", AnyLLM | None) == LLM("openai/a")
    assert read(None, AnyLLM | None) is None


def test_a_change_of_an_agent_has_them_too() -> None:
    changed = replaced(Agent(LLM("openai/a")), {"llm": msgspec.Raw(b'"openai/b"'), "tools": msgspec.Raw(b'["glob"]')})
    assert changed == Agent(LLM("openai/b"), tools=(Tool("glob"),))
