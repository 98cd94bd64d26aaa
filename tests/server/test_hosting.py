from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentrt import LLM, Agent, ConfirmRisky, Runtime
from agentrt.controls import Fork, Forked, SendMessage
from agentrt.errors import ConfigurationError, ConversationMissing
from agentrt.protocols import ModelClient
from agentrt.server import ServerSettings
from agentrt.server.hosting import Hosting
from agentrt.server.principals import EVERYONE, Principal, Scope
from agentrt.storage.rows import Row
from agentrt.testing import ScriptedLLM, finish

AGENT = Agent(llm=LLM(model="scripted/model"), confirmation=ConfirmRisky())
ADA = Principal("ada", frozenset({Scope.OBSERVE, Scope.STEER}))
BOB = Principal("bob", frozenset({Scope.OBSERVE, Scope.STEER}))


@asynccontextmanager
async def hosting(directory: Path, model: ModelClient | None = None, **settings: object) -> AsyncIterator[Hosting]:
    """The conversations of a server on a store in `directory`."""
    workspaces = directory / "workspaces"
    workspaces.mkdir(exist_ok=True)
    asked = ServerSettings(workspaces=(workspaces,), **settings)  # type: ignore[arg-type]
    async with (
        Runtime(directory / "store", client=model or ScriptedLLM([])) as runtime,
        Hosting(runtime, asked) as made,
    ):
        yield made


def ids(rows: list[Row]) -> set[str]:
    return {row.id for row in rows}


async def test_everyone_sees_his_own(tmp_path: Path) -> None:
    async with hosting(tmp_path) as conversations:
        await conversations.create(AGENT, ADA, conversation_id="a")
        await conversations.create(AGENT, BOB, conversation_id="b")
        with pytest.raises(ConversationMissing):
            await conversations.get("a", BOB)
        assert ids(await conversations.page(ADA)) == {"a"}
        assert ids(await conversations.page(EVERYONE)) == {"a", "b"}
        assert await conversations.page(Principal(None, frozenset({Scope.OBSERVE}))) == []
    async with hosting(tmp_path) as conversations:
        assert [(row.id, row.owner) for row in await conversations.page(BOB)] == [("b", "bob")]
        with pytest.raises(ConversationMissing):
            await conversations.get("b", ADA)


async def test_the_list_says_what_is_in_memory(tmp_path: Path) -> None:
    async with hosting(tmp_path, ScriptedLLM([finish("Done.")])) as conversations:
        conversation = await conversations.create(AGENT, ADA, conversation_id="a")
        await conversation.send_message("Mend the tests")
        await conversation.set_tags({"team": "core"})
        await conversation.run()
        (row,) = await conversations.page(ADA, status="finished", query="mend", tags={"team": "core"})
        assert (row.title, row.events, row.completion_tokens > 0) == ("Mend the tests", conversation.cursor.seq, True)
        assert await conversations.page(ADA, query="other") == []
        assert await conversation.rest()
        assert ids(await conversations.page(ADA, query="mend")) == {"a"}, "also asleep"


async def test_a_fork_has_the_same_owner(tmp_path: Path) -> None:
    async with hosting(tmp_path) as conversations:
        original = await conversations.create(AGENT, ADA, conversation_id="a", secrets={"TOKEN": "0123456789"})
        await conversations.do("a", SendMessage(content="Go"), ADA)
        made = await conversations.do("a", Fork(id="f"), EVERYONE)
        assert made == Forked("f")
        fork = await conversations.get("f", ADA)
        assert fork.state.created is not None
        assert (fork.state.created.owner, fork.state.created.parent) == ("ada", "a")
        assert fork.missing_secrets == original.missing_secrets == ()
        with pytest.raises(ConversationMissing):
            await conversations.get("f", BOB)


async def test_what_is_deleted_is_gone(tmp_path: Path) -> None:
    async with hosting(tmp_path) as conversations:
        await conversations.create(AGENT, ADA, conversation_id="a")
        with pytest.raises(ConversationMissing):
            await conversations.delete("a", BOB)
        await conversations.delete("a", ADA)
        with pytest.raises(ConversationMissing):
            await conversations.get("a", ADA)
        with pytest.raises(ConversationMissing):
            await conversations.delete("a", EVERYONE)
        assert await conversations.page(ADA) == []


async def test_an_admin_deletes_what_is_damaged(tmp_path: Path) -> None:
    log = tmp_path / "store" / "conversations" / "a" / "events.jsonl"
    async with hosting(tmp_path) as conversations:
        await conversations.create(AGENT, ADA, conversation_id="a")
    log.write_bytes(b"x" + log.read_bytes()[1:])
    async with hosting(tmp_path) as conversations:
        await conversations.delete("a", EVERYONE)
        assert await conversations.page(EVERYONE) == []


async def test_a_workspace_is_below_those_of_the_server(tmp_path: Path) -> None:
    async with hosting(tmp_path) as conversations:
        for place in ("..", "/etc", "a/../../b"):
            with pytest.raises(ConfigurationError, match="not below"):
                await conversations.create(AGENT, ADA, place)
