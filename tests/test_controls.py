"""What cannot be is refused before anything is logged: what was logged so could never be read again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentrt import (
    LLM,
    Agent,
    Conversation,
    Hook,
    HookEvent,
    Limits,
    PermissionRule,
    StuckDetection,
    Tool,
)
from agentrt.errors import ConfigurationError
from agentrt.testing import ScriptedLLM, finish

pytestmark = pytest.mark.simulated

WRONG: dict[str, Callable[[Any], Awaitable[object]]] = {
    "id": lambda conversation: conversation.send_message("hello", id=42),
    "content": lambda conversation: conversation.send_message(["a"]),
    "empty": lambda conversation: conversation.send_message("  "),
    "nothing": lambda conversation: conversation.send_message([]),
    "busy": lambda conversation: conversation.send_message("hello", busy="later"),
    "objective": lambda conversation: conversation.set_goal(5),
    "iterations": lambda conversation: conversation.set_goal("all is well", max_iterations=1.5),
    "judge": lambda conversation: conversation.set_goal("all is well", judge=5),
    "interrupt": lambda conversation: conversation.interrupt(5),
    "reason": lambda conversation: conversation.reject(5),
    "always": lambda conversation: conversation.confirm(always="forever"),
    "amount": lambda conversation: conversation.grant(True),
    "place": lambda conversation: conversation.rewind("2"),
    "scope": lambda conversation: conversation.add_rule(PermissionRule("deny", "terminal"), scope="all"),
    "verdict": lambda conversation: conversation.add_rule(PermissionRule("maybe", "terminal")),  # type: ignore[arg-type]
    "rule": lambda conversation: conversation.add_rule("deny terminal"),
    "title": lambda conversation: conversation.rename(5),
    "question": lambda conversation: conversation.ask_agent(5),
    "model": lambda conversation: conversation.generate_title(llm=5),
    "limits": lambda conversation: conversation.configure(limits={"tool_concurrency": 0}),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_control_with_a_value_that_cannot_be_is_refused(tmp_path: Path, wrong: str) -> None:
    client = ScriptedLLM([finish("Done.")])
    agent = Agent(llm=LLM(model="scripted"), tools=())
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=client, id="c") as conversation:
        before = conversation.cursor
        with pytest.raises(ConfigurationError):
            await WRONG[wrong](conversation)
        assert conversation.cursor == before
    async with Conversation(id="c", store=tmp_path / "s", client=client) as conversation:
        await conversation.send_message("hello", id="42")
        assert (await conversation.run()).status == "finished"


async def test_a_rule_about_an_argument_that_there_is_not_is_refused(tmp_path: Path) -> None:
    for argument, tool in (("cmd", "terminal"), ("command", "terminal"), ("cmd", "term*"), ("", "terminal")):
        rules = (PermissionRule("deny", tool, "*rm*", argument),)
        agent = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),), rules=rules)
        made = Conversation(agent, tmp_path, store=tmp_path / "s", client=ScriptedLLM([]))
        if (argument, tool) == ("cmd", "terminal"):
            with pytest.raises(ConfigurationError, match="a rule is about 'cmd' of terminal, which has command"):
                await made.__aenter__()
        else:
            async with made:
                pass


async def test_words_in_the_place_of_an_enumeration_are_taken(tmp_path: Path) -> None:
    """As they are where an agent comes as JSON."""
    agent = Agent(llm=LLM(model="scripted"), tools=(), hooks=(Hook(event="stop", command="true"),))  # type: ignore[arg-type]
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=ScriptedLLM([])) as conversation:
        assert conversation.state.spec.hooks[0].event is HookEvent.STOP


@pytest.mark.pure
@pytest.mark.parametrize(
    "wrong", ["max_steps", "tool_concurrency", "max_seconds", "max_cost", "max_tokens", "max_depth"]
)
def test_a_limit_is_a_number_from_nothing_on(wrong: str) -> None:
    for value in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=wrong):
            Limits(**{wrong: value})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tool_concurrency must be 1 or more"):
        Limits(tool_concurrency=0)
    with pytest.raises(ValueError, match="monologue must be a count"):
        StuckDetection(monologue=-1)
