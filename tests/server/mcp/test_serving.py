"""The MCP server, with the library's own client over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from agentrt import LLM, Agent, AlwaysConfirm
from agentrt.server import ServerSettings
from agentrt.server.mcp.operations import MOST_EVENTS
from agentrt.testing import ScriptedLLM, call, finish, say
from mcp import Client, MCPError
from tests.mcp.warm import server_of
from tests.server.served import served

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("warm_servers")]

SECONDS = 40


@asynccontextmanager
async def client(directory: Path, model: ScriptedLLM, mode: str = "auto", **more: Any) -> AsyncIterator[Client]:
    """A client of a server with an agent that asks before everything."""
    elicited = more.pop("elicited", None)
    spec = Agent(llm=LLM(model="scripted"), **more)
    settings = ServerSettings(port=0, workspaces=(directory / "workspaces",), agent=spec)
    with anyio.fail_after(SECONDS):
        async with served(directory, model, settings) as at:
            cookies = {cookie.key: cookie.value for cookie in at.session.cookie_jar}
            async with httpx2.AsyncClient(cookies=cookies, timeout=SECONDS) as http:
                streams = streamable_http_client(f"{at.url}/mcp", http_client=http)
                async with Client(streams, mode=mode, elicitation_callback=elicited) as found:
                    yield found


async def done(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content or {}
    return found


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_conversation_is_begun_waited_for_and_read(tmp_path: Path, mode: str) -> None:
    model = ScriptedLLM([call("terminal", command="echo one"), finish("It says one."), say("Again.")])
    async with client(tmp_path, model, mode) as at:
        assert at.server_info is not None
        assert (at.server_info.name, at.server_info.version) == ("agentrt", version("agentrt"))
        names = [tool.name for tool in (await at.list_tools()).tools]
        assert names[:3] == ["start_conversation", "send_message", "wait"]
        begun = await done(at, "start_conversation", task="Say one.", title="One")
        shown: list[str] = []

        async def progress(progress: float, total: float | None, message: str | None) -> None:
            shown.append(message or "")

        result = await at.call_tool("wait", {"conversation": begun["conversation"]}, progress_callback=progress)
        ended = result.structured_content
        assert ended is not None
        assert shown, "the client is told how far it has come"
        assert (ended["status"], ended["answer"]) == ("finished", "It says one.")
        assert any(event.get("result", "").startswith("one") for event in ended["events"])
        await done(at, "send_message", conversation=begun["conversation"], message="Again?")
        again = await done(at, "wait", conversation=begun["conversation"], after=ended["cursor"])
        assert again["answer"] == "Again."
        assert all(event["seq"] > ended["cursor"] for event in again["events"])
        listed = await done(at, "list_conversations", query="one")
        assert [row["conversation"] for row in listed["conversations"]] == [begun["conversation"]]
        forked = await done(at, "fork", conversation=begun["conversation"], title="Other")
        assert forked["conversation"] != begun["conversation"]
        uri = f"agentrt://conversations/{begun['conversation']}"
        assert uri in {str(one.uri) for one in (await at.list_resources()).resources}
        assert '"answer":"Again."' in str((await at.read_resource(uri)).contents).replace("\\", "")
        assert "Say one." in str((await at.read_resource(f"{uri}/events")).contents)
        with pytest.raises(MCPError, match="no resource"):
            await at.read_resource("agentrt://else")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("approve", [True, False])
async def test_the_person_behind_the_client_answers_what_waits(tmp_path: Path, mode: str, approve: bool) -> None:
    asked: list[str] = []

    async def elicited(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": approve, "reason": "not so"})

    model = ScriptedLLM([call("terminal", command="echo one"), finish("ok")])
    async with client(tmp_path, model, mode, confirmation=AlwaysConfirm(), elicited=elicited) as at:
        begun = await done(at, "start_conversation", task="Say one.")
        held = await done(at, "wait", conversation=begun["conversation"])
        assert held["status"] == "waiting_for_confirmation"
        assert held["waits_for_a_person"][0]["arguments"] == {"command": "echo one"}
        await done(at, "confirm", conversation=begun["conversation"])
        assert len(asked) == 1
        assert "echo one" in asked[0]
        ended = await done(at, "wait", conversation=begun["conversation"], after=held["cursor"])
        assert ended["status"] == "finished"
        assert any(event.get("rejected") == "not so" for event in ended["events"]) is not approve


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("verdict", ["accept", "decline"])
async def test_the_person_behind_the_client_answers_what_a_tool_asks(tmp_path: Path, mode: str, verdict: str) -> None:
    asked: list[str] = []

    async def elicited(context: Any, params: Any) -> ElicitResult:
        if params.message.startswith("May the agent do this?"):
            return ElicitResult(action="accept", content={"approve": True})
        asked.append(params.message)
        return ElicitResult(action=verdict, content={"colour": "red"} if verdict == "accept" else None)  # type: ignore[arg-type]

    model = ScriptedLLM([call("choose"), finish("ok")])
    async with client(
        tmp_path, model, mode, mcp_servers={"demo": server_of()}, confirmation=AlwaysConfirm(), elicited=elicited
    ) as at:
        begun = await done(at, "start_conversation", task="Choose.")
        await done(at, "wait", conversation=begun["conversation"])
        await done(at, "confirm", conversation=begun["conversation"])
        held = await done(at, "wait", conversation=begun["conversation"])
        assert [(one["asks"], one["message"]) for one in held["asks_a_person"]] == [("demo", "Which colour?")]
        await done(at, "confirm", conversation=begun["conversation"])
        assert asked == ["demo: Which colour?"]
        ended = await done(at, "wait", conversation=begun["conversation"], after=held["cursor"])
        said = "accept red" if verdict == "accept" else "decline None"
        assert any(event.get("result") == said for event in ended["events"]), ended["events"]


async def test_waiting_again_with_the_cursor_misses_nothing(tmp_path: Path) -> None:
    turns = [call("terminal", command="echo one") for _ in range(MOST_EVENTS // 5)]
    async with client(tmp_path, ScriptedLLM([*turns, finish("ok")]), stuck=None) as at:
        begun = await done(at, "start_conversation", task="Say one.")
        seen: list[int] = []
        after, rounds = 0, 0
        while True:
            found = await done(at, "wait", conversation=begun["conversation"], after=after)
            seen += [event["seq"] for event in found["events"]]
            after, rounds = found["cursor"], rounds + 1
            if found["status"] == "finished" and not found["events"]:
                break
        assert rounds > 2
        whole = []
        for first in range(0, after, MOST_EVENTS):
            found = await done(at, "read_events", conversation=begun["conversation"], after=first, limit=MOST_EVENTS)
            whole += [event["seq"] for event in found["events"]]
        assert seen == whole
        assert len(seen) > 2 * len(turns)


async def test_a_client_that_cannot_ask_is_told_who_can_and_what_cannot_be_is_said(tmp_path: Path) -> None:
    model = ScriptedLLM([call("terminal", command="echo one"), finish("ok")])
    async with client(tmp_path, model, confirmation=AlwaysConfirm()) as at:
        begun = await done(at, "start_conversation", task="Say one.")
        await done(at, "wait", conversation=begun["conversation"])
        told = await done(at, "confirm", conversation=begun["conversation"])
        assert told["answered"].startswith("nobody")
        assert told["status"] == "waiting_for_confirmation"
        assert (await done(at, "interrupt", conversation=begun["conversation"]))["status"] == "paused"
        for tool, given, says in (
            ("wait", {"conversation": "nowhere"}, "nowhere"),
            ("wait", {}, "the arguments do not fit"),
            ("dance", {}, "unknown tool 'dance'"),
            ("start_conversation", {"task": "x", "workspace": "/etc"}, "/etc"),
        ):
            result = await at.call_tool(tool, given)
            assert result.is_error
            assert says in str(result.content)


async def test_nobody_is_let_in_without_a_key(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as at, httpx2.AsyncClient() as http:
        answer = await http.post(f"{at.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert answer.status_code == 401
