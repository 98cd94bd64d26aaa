"""Whole conversations whose storage is memory: in a program, and behind a server."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from agentrt import LLM, Agent, Conversation, Runtime
from agentrt.errors import ConfigurationError, ConversationMissing
from agentrt.events import ExecutionStatus, ObservationEvent
from agentrt.server import ServerSettings, create_app
from agentrt.server.principals import EVERYONE
from agentrt.server.running import serving
from agentrt.specs import PermissionRule, Tool
from agentrt.specs.content import plain
from agentrt.state import fold
from agentrt.storage import MemoryStorage
from agentrt.testing import ScriptedLLM, call, finish
from tests.server.served import Client, agent, token_of

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=(Tool("terminal"),))
TURNS = [call("terminal", "I look.", command="echo pelican"), finish("I saw a pelican.")]


async def test_a_conversation_runs_is_forked_opened_again_and_deleted(tmp_path: Path) -> None:
    async with Runtime("memory://", client=ScriptedLLM([*TURNS, finish("Again."), finish("There.")])) as runtime:
        async with Conversation(AGENT, tmp_path, id="c", runtime=runtime) as conversation:
            await conversation.send_message("Look.")
            state = await conversation.run()
            assert state.status is ExecutionStatus.FINISHED
            await conversation.add_rule(PermissionRule("deny", "terminal", "rm *", "command"), "project")
            async with await conversation.fork(id="f") as fork:
                await fork.send_message("And there?")
                assert (await fork.run()).status is ExecutionStatus.FINISHED
            seen = [event async for event in conversation.events()]
        async with Conversation(id="c", runtime=runtime) as again:
            assert [event async for event in again.events()][: len(seen)] == seen
            await again.send_message("Once more.")
            assert (await again.run()).status is ExecutionStatus.FINISHED
        logged = [event async for event in runtime.store.history("c").read()]
        assert any(isinstance(event, ObservationEvent) and "pelican" in plain(event.content) for event in logged)
        assert fold(logged).status is ExecutionStatus.FINISHED
        async with Conversation(AGENT, tmp_path, runtime=runtime) as another:
            assert [rule.verdict for rule in another.state.ledger.rules] == ["deny"], "the rule is of the workspace"
        assert [hit.conversation for hit in await runtime.store.listing.search("once more")] == ["c"]
        await runtime.store.delete("c")
        with pytest.raises(ConversationMissing):
            async with Conversation(id="c", runtime=runtime):
                pass
        async with Conversation(id="f", runtime=runtime) as fork:
            assert [event async for event in fork.events()][:3] == seen[:3]
    assert [path.name for path in tmp_path.iterdir()] == [], "nothing is written"


async def test_a_storage_goes_from_one_runtime_to_the_next(tmp_path: Path) -> None:
    storage = MemoryStorage()
    async with Conversation(AGENT, tmp_path, id="c", store=storage, client=ScriptedLLM(TURNS)) as conversation:
        await conversation.send_message("Look.")
        await conversation.run()
    async with Conversation(id="c", store=storage, client=ScriptedLLM([])) as conversation:
        assert conversation.state.status is ExecutionStatus.FINISHED
    async with Runtime("memory://") as runtime:
        with pytest.raises(ConversationMissing):
            await runtime.store.history("c").created()


@pytest.mark.simulated
async def test_a_storage_that_is_not_known_is_refused() -> None:
    for unknown in ("memory://x", "postgres://host/db"):
        with pytest.raises(ConfigurationError, match="no storage is known"):
            Runtime(unknown)


async def test_a_server_answers_from_it(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    settings = ServerSettings(port=0, workspaces=(tmp_path / "work",))
    app = create_app(Runtime("memory://", client=ScriptedLLM(TURNS)), settings)
    async with serving(app, settings) as url, aiohttp.ClientSession(cookies=token_of(app)) as session:
        client = Client(session, url, app)
        spec = agent(tools=(Tool("terminal"),))
        assert (await client.ask("POST", "/conversations", {"agent": spec, "id": "c", "message": "Look."}))[0] == 201
        conversation = await client.services.hosting.get("c", EVERYONE)
        await conversation.run()
        status, page = await client.ask("GET", "/conversations/c/events?limit=1000")
        assert (status, page["next"]) == (200, None)
        assert [event["seq"] for event in page["items"]] == list(range(1, len(page["items"]) + 1))
        assert (await client.ask("GET", "/conversations/c/events/3"))[1] == page["items"][2]
        assert (await client.ask("GET", "/conversations/c/events/count"))[1]["count"] == len(page["items"])
        assert (await client.ask("GET", "/conversations/c/state?at=2"))[1]["cursor"]["seq"] == 2
        hits = (await client.ask("GET", "/search?query=pelican"))[1]["items"]
        assert {hit["conversation"] for hit in hits} == {"c"}
        assert [row["id"] for row in (await client.ask("GET", "/conversations"))[1]["items"]] == ["c"]
        assert (await client.ask("GET", "/conversations/count"))[1]["count"] == 1
        assert (await client.ask("DELETE", "/conversations/c"))[0] == 204
        assert (await client.ask("GET", "/conversations/c"))[0] == 404
