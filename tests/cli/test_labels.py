"""`agentrt rename`, `tag` and `ask`, as processes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import anyio
import pytest

from agentrt import LLM, Agent, Conversation
from agentrt.state import fold
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM, ScriptedProvider, say

from .test_main import agentrt

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one conversation that has ended."""
    place = tmp_path_factory.mktemp("store")

    async def converse() -> None:
        async with Conversation(AGENT, place, id="c", store=place, client=ScriptedLLM([say("Seven.")])) as conversation:
            await conversation.send_message("How many are there?")
            await conversation.run()

    anyio.run(converse)
    return place


def test_a_conversation_gets_a_title_and_tags(store: Path) -> None:
    ran = agentrt(store, "rename", "c", "The  count")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert agentrt(store, "tag", "c", "team=core", "pr=12").stdout == "team=core\npr=12\n"
    assert agentrt(store, "tag", "c", "pr=", "team=web").stdout == "team=web\n"
    listed = agentrt(store, "list").stdout.splitlines()[1]
    assert "The count" in listed
    assert "How many" not in listed
    (row,) = map(json.loads, agentrt(store, "list", "--json").stdout.splitlines())
    assert (row["id"], row["title"], row["tags"]) == ("c", "The count", {"team": "web"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rename", "c", " "), "the title is empty"),
        (("tag", "c", "Team=x"), "'Team' cannot be the key of a tag"),
        (("tag", "c", "team"), "'team' has no value: write team=VALUE"),
        (("rename", "nobody", "x"), "no conversation 'nobody'"),
    ],
)
def test_wrong_words_are_said(store: Path, words: tuple[str, ...], said: str) -> None:
    ran = agentrt(store, *words)
    assert ran.returncode == 2
    assert said in ran.stderr


@pytest.mark.long
async def test_a_question_besides_leaves_no_trace_in_the_history(tmp_path: Path) -> None:
    """While the conversation is open elsewhere, that is said."""
    store = tmp_path / "store"
    ask = partial(agentrt, store, "ask", "c", "What did you do?")
    async with ScriptedProvider(lambda body: say(f"Asked in {len(body['messages'])} messages.")) as provider:
        async with Conversation(Agent(llm=provider.llm()), tmp_path, id="c", store=store) as conversation:
            await conversation.send_message("Go.")
            await conversation.run()
            locked = await anyio.to_thread.run_sync(ask)
        before = fold(read_conversation(store / "conversations" / "c"))
        ran = await anyio.to_thread.run_sync(ask)
    assert (locked.returncode, locked.stdout) == (2, "")
    assert locked.stderr.startswith("agentrt: conversation 'c' is open elsewhere: ")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Asked in 4 messages.\n", "")
    after = fold(read_conversation(store / "conversations" / "c"))
    assert list(after.branch.view) == list(before.branch.view)
    assert after.status == before.status
    assert after.ledger.cost > before.ledger.cost
