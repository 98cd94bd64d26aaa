"""The `delegate` tool: what the model is offered, and what its calls share."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest

from agentrt.context.replies import BadCall
from agentrt.decisions.sharing import Delegated, delegated
from agentrt.errors import ConfigurationError, ToolError
from agentrt.specs import LLM, Agent, LocalWorkspace, OnCrash, Tool
from agentrt.tools import BUILT_IN, Tools
from agentrt.tools.delegate import delegate, to_agents
from tests.tools.context import FakeContext

pytestmark = pytest.mark.simulated


def tools(workspace: Path) -> Tools:
    return Tools([Tool("delegate")], BUILT_IN, LocalWorkspace(str(workspace)))


class Vague(msgspec.Struct):
    what: str


class Several(msgspec.Struct):
    task: list[str]


@pytest.mark.pure
@pytest.mark.parametrize("action", [Vague, Several])
def test_a_tool_that_delegates_has_a_task(action: type) -> None:
    with pytest.raises(ConfigurationError, match="its arguments need a text 'task'"):
        dataclasses.replace(delegate, action=action)


def test_it_is_offered_with_a_task_and_an_agent(tmp_path: Path) -> None:
    (definition,) = tools(tmp_path).definitions
    schema = msgspec.json.decode(definition.parameters)
    assert schema["required"] == ["task"]
    assert set(schema["properties"]) == {"task", "agent"}
    assert definition.on_crash is OnCrash.RETRY


def test_calls_share_nothing(tmp_path: Path) -> None:
    assert tools(tmp_path).resources("delegate", msgspec.Raw(b'{"task":"x"}')) == ()


@pytest.mark.parametrize("arguments", [b"{}", b'{"task":""}', b'{"task":1}'])
def test_a_call_without_a_task_is_an_error_that_the_model_can_act_on(tmp_path: Path, arguments: bytes) -> None:
    with pytest.raises(BadCall, match="do not fit"):
        tools(tmp_path).resources("delegate", msgspec.Raw(arguments))


@pytest.mark.pure
def test_what_is_delegated_is_read_from_the_arguments() -> None:
    assert delegated(msgspec.Raw(b'{"task":"x","agent":"reader"}')) == Delegated("x", "reader")
    assert delegated(msgspec.Raw(b'{"task":"x"}')) == Delegated("x", "")


@pytest.mark.pure
def test_the_model_is_told_which_agents_there_are() -> None:
    agents = {name: Agent(llm=LLM(model="m")) for name in ("writer", "reader")}
    assert to_agents(delegate, agents).description.endswith("The agents are:\n- writer\n- reader")


async def test_nobody_runs_it_but_a_conversation(tmp_path: Path) -> None:
    executor = tools(tmp_path).executor("delegate")
    with pytest.raises(ToolError, match="by the conversation itself"):
        await executor(None, FakeContext(tmp_path))
    await executor.aclose()
