"""The answer: `state.answer`, `conversation.answer`, `prompt` and `run_sync`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt import LLM, Agent, AlwaysConfirm, Conversation, Limits, NoAnswer, Runtime, run_sync
from agentrt.errors import ConfigurationError
from agentrt.state import fold
from agentrt.storage import read_conversation
from agentrt.storage.pages import read_state
from agentrt.testing import ScriptedLLM, ScriptedProvider, call, finish, say

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=("terminal",))
LOOK = call("terminal", "I look.", command="true")


def conversation(place: Path, turns: list[Any], agent: Agent = AGENT, **given: Any) -> Conversation:
    return Conversation(agent, place, store=place / "s", client=ScriptedLLM(turns), id="c", **given)


@pytest.mark.parametrize("last", [say("Four files."), finish("Four files.")])
async def test_the_answer_is_the_agent_s_last_word(tmp_path: Path, last: Any) -> None:
    async with conversation(tmp_path, [LOOK, last]) as talk:
        assert talk.answer is None
        assert await talk.prompt("How many files?") == "Four files."
        assert talk.answer == talk.state.answer == "Four files."


async def test_it_is_none_while_the_agent_works_on_what_was_said_since(tmp_path: Path) -> None:
    async with conversation(tmp_path, [say("One."), LOOK, say("Two.")]) as talk:
        await talk.prompt("First")
        await talk.send_message("Second")
        assert talk.answer is None
        seen = [talk.state.answer async for _ in talk.run()]
        assert set(seen) <= {None, "Two."}
        assert talk.answer == "Two."


async def test_it_goes_with_a_rewind_and_a_fork_and_comes_from_the_log(tmp_path: Path) -> None:
    async with conversation(tmp_path, [say("One."), finish("Two."), say("Three.")]) as talk:
        await talk.prompt("First")
        one = talk.cursor
        await talk.prompt("Second")
        async with await talk.fork(one) as twig:
            assert twig.answer == "One."
        await talk.rewind(one)
        assert talk.answer == "One."
        assert await talk.prompt("Third") == "Three."
        directory = tmp_path / "s" / "conversations" / "c"
        assert fold(read_conversation(directory)).answer == "Three."
    assert read_state(directory).answer == "Three."
    (directory / "memo.bin").unlink(missing_ok=True)
    assert read_state(directory).answer == "Three.", "from outlines, too"
    async with Conversation(id="c", store=tmp_path / "s", client=ScriptedLLM([])) as again:
        assert again.answer == "Three."


async def test_it_is_there_while_the_conversation_sleeps(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "s", client=ScriptedLLM([say("Good night.")])) as runtime:
        async with Conversation(AGENT, tmp_path, runtime=runtime) as talk:
            await talk.prompt("Sleep")
            assert await talk.rest()
            assert talk.answer == "Good night."


async def test_words_that_were_cut_are_no_answer(tmp_path: Path) -> None:

    async with conversation(
        tmp_path, [say("One."), LOOK], agent=Agent(llm=AGENT.llm, limits=Limits(max_steps=1))
    ) as talk:
        await talk.prompt("First")
        with pytest.raises(NoAnswer, match=r"\(error\)") as ended:
            await talk.prompt("Second")
        assert (ended.value.status, ended.value.code) == ("error", "max_steps")
        assert talk.answer is None


async def test_what_waits_for_a_person_has_no_answer_yet(tmp_path: Path) -> None:
    agent = Agent(llm=AGENT.llm, tools=AGENT.tools, confirmation=AlwaysConfirm())
    async with conversation(tmp_path, [LOOK, say("Done.")], agent) as talk:
        with pytest.raises(NoAnswer, match="wait for a person") as waits:
            await talk.prompt("Look")
        assert waits.value.status == "waiting_for_confirmation"
        await talk.confirm()
        assert (await talk.run()).answer == "Done."


SCRIPT = """
import sys
from agentrt import Agent, LLM, run_sync
agent = Agent(llm=LLM(model="openai/scripted", base_url=sys.argv[1]), tools=())
print(run_sync(agent, "How many?", sys.argv[2], store=sys.argv[2] + "/s"))
"""


async def test_a_script_needs_no_event_loop(tmp_path: Path) -> None:
    async with ScriptedProvider([say("Four.")]) as provider:
        command = [sys.executable, "-c", SCRIPT, provider.base_url, str(tmp_path)]
        done = await anyio.run_process(command, env={"OPENAI_API_KEY": "none", "PATH": "/usr/bin:/bin"})
    assert done.stdout.decode() == "Four.\n"


@pytest.mark.simulated
async def test_where_a_loop_runs_there_is_prompt() -> None:
    with pytest.raises(ConfigurationError, match="await conversation.prompt"):
        run_sync(AGENT, "How many?")
