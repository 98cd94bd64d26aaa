"""What cannot be is refused before anything is logged: what was logged so could never be read again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentrt import (
    LLM,
    Agent,
    AlwaysConfirm,
    Conversation,
    Hook,
    HookEvent,
    Limits,
    PermissionRule,
    Runtime,
    StuckDetection,
    Tool,
)
from agentrt.context.replies import ModelReply
from agentrt.errors import ConfigurationError
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, finish, say

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


async def test_the_controls_of_the_reference_do_what_their_names_say(tmp_path: Path) -> None:
    """The methods that have the names of the OpenHands SDK."""

    def script(request: ModelRequest) -> ModelReply:
        words = plain(request.messages[-1].content)
        if "question besides the task" in words:
            return say("Half way.")
        return say("A title") if not request.tools else say(f"said by {request.one.model}")

    plugin = tmp_path / "plugin/skills/tidy/SKILL.md"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("---\nname: tidy\ndescription: Tidies.\n---\nTidy up.\n")
    client = ScriptedLLM(script)
    async with Runtime("memory://", client=client) as runtime:
        async with Conversation(Agent(llm=LLM("one"), tools=()), tmp_path, runtime=runtime) as conversation:
            assert await conversation.prompt("Go") == "said by one"
            await conversation.update_secrets({"TOKEN": "a-secret-value"})
            assert await conversation.ask_agent("How far are you?") == "Half way."
            assert await conversation.generate_title() == "A title"
            await conversation.load_plugin(str(tmp_path / "plugin"))
            await conversation.set_confirmation_policy(AlwaysConfirm())
            await conversation.set_security_analyzer("rules")
            await conversation.switch_llm(LLM("other"))
            assert await conversation.prompt("a-secret-value") == "said by other"
            await conversation.condense()
            state = conversation.state
            assert (state.spec.confirmation, state.spec.analyzers) == (AlwaysConfirm(), ("rules",))
            assert state.context is not None
            assert "tidy" in [skill.name for skill in state.context.skills]
            assert "a-secret-value" not in plain(client.requests[-1].messages[-1].content)
            async with await conversation.fork() as fork:
                assert await fork.prompt("Go on") == "said by other"
                assert fork.id != conversation.id
