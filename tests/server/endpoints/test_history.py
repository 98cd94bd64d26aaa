from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from agentrt import codec
from agentrt.server.principals import EVERYONE
from agentrt.specs import AlwaysConfirm
from agentrt.storage.store import read_conversation
from agentrt.testing import ScriptedLLM, call, finish
from tests.storage.logs import conversation

from ..served import Client, agent, served
from .helpers import begin, settled

pytestmark = pytest.mark.real


async def worked(client: Client) -> str:
    """A conversation that has some history."""
    made = await begin(client, message="Begin")
    await settled(client, made["id"])
    return str(made["id"])


def script() -> ScriptedLLM:
    return ScriptedLLM([call("think", thought="Hm"), call("terminal", command="echo hello"), finish("Done.")])


async def pages(client: Client, path: str, place: str) -> list[Any]:
    """All that is on a list's pages, each `next` given back as `place`."""
    found: list[Any] = []
    further = ""
    while True:
        status, page = await client.ask("GET", path + further)
        assert status == 200, page
        found += page["items"]
        if page["next"] is None:
            return found
        further = f"&{place}={page['next']}"


async def test_events_are_as_they_stand_in_the_log(tmp_path: Path) -> None:
    async with served(tmp_path, script()) as client:
        name = await worked(client)
        url = f"{client.url}/conversations/{name}/events?limit=1000"
        async with client.session.get(url) as answer:
            page = msgspec.json.decode(await answer.read(), type=dict[str, msgspec.Raw])
    events = read_conversation(tmp_path / "store" / "conversations" / name)
    assert msgspec.json.decode(page["items"], type=list[msgspec.Raw]) == [msgspec.Raw(codec.encode(e)) for e in events]
    assert msgspec.json.decode(page["cursor"]) == {"epoch": 0, "seq": len(events)}


async def test_pages_join_in_both_directions(tmp_path: Path) -> None:
    async with served(tmp_path, script()) as client:
        base = f"/conversations/{await worked(client)}/events?limit=3"
        forwards = [event["seq"] for event in await pages(client, base, "after")]
        backwards = [event["seq"] for event in await pages(client, f"{base}&order=desc", "before")]
        assert forwards == list(range(1, len(forwards) + 1))
        assert backwards == forwards[::-1]
        middle = await pages(client, f"{base}&before=7&order=asc", "after")
        assert [event["seq"] for event in middle] == [1, 2, 3, 4, 5, 6]


async def test_types_and_sources_choose(tmp_path: Path) -> None:
    async with served(tmp_path, script()) as client:
        base = f"/conversations/{await worked(client)}/events"
        found = await pages(client, f"{base}?limit=1&type=ActionEvent,MessageEvent", "after")
        assert [event["type"] for event in found] == ["MessageEvent", *["ActionEvent"] * 3]
        found = await pages(client, f"{base}?limit=1&source=user", "after")
        assert [event["type"] for event in found] == ["MessageEvent", "RunRequested"]
        found = await pages(client, f"{base}?limit=2&source=agent&type=ActionEvent&order=desc", "before")
        assert [event["tool_name"] for event in found] == ["finish", "terminal", "think"]


async def test_times_and_words_choose(tmp_path: Path) -> None:
    async with served(tmp_path, script()) as client:
        base = f"/conversations/{await worked(client)}/events"
        everything = await pages(client, f"{base}?limit=100", "after")
        middle = everything[len(everything) // 2]["timestamp"]
        early = await pages(client, f"{base}?limit=3&until={quote(middle)}", "after")
        late = await pages(client, f"{base}?limit=3&since={quote(middle)}", "after")
        assert early + late == everything
        assert all(event["timestamp"] < middle for event in early)
        assert late[0]["timestamp"] == middle
        found = await pages(client, f"{base}?limit=2&text=ECHO%20hello", "after")
        assert [event["type"] for event in found] == ["ActionEvent"]
        found = await pages(client, f"{base}?limit=2&text=hello&type=ObservationEvent", "after")
        assert [event["tool_name"] for event in found] == ["terminal"]
        for wrong in ("since=yesterday", "since=1767225600", "since=-1", "since=2026-01-01T00:00:00", "until=null"):
            status, problem = await client.ask("GET", f"{base}?{wrong}")
            assert (status, problem["code"]) == (422, "validation"), wrong


async def test_events_are_counted_as_they_are_listed(tmp_path: Path) -> None:
    async with served(tmp_path, script()) as client:
        base = f"/conversations/{await worked(client)}/events"
        for query in (
            "",
            "&type=ActionEvent",
            "&source=agent",
            "&text=hello",
            "&after=3&before=7",
            "&after=7&before=3",
            "&since=2020-01-01T00:00:00Z",
            "&until=2020-01-01T00:00:00%2B01:00",
        ):
            listed = await pages(client, f"{base}?limit=100{query}", "after")
            status, told = await client.ask("GET", f"{base}/count?epoch=0{query}")
            assert (status, told["count"], told["next"]) == (200, len(listed), None), query
        assert told["cursor"] == (await client.ask("GET", base))[1]["cursor"]
        assert (await client.ask("GET", f"{base}/count?limit=3"))[1]["code"] == "validation"
        assert (await client.ask("GET", f"{base}/count?after=10000"))[1]["code"] == "cursor-expired"


async def test_a_long_log_is_counted_a_look_after_another(tmp_path: Path) -> None:
    conversation(tmp_path / "store", "long", *("x" * (1 << 20) + str(n) for n in range(70)))
    async with served(tmp_path, ScriptedLLM([])) as client:
        told = (await client.ask("GET", "/conversations/long/events/count?text=X"))[1]
        assert (told["count"], told["next"]) == (70, None), "more than one look takes"
        page = (await client.ask("GET", "/conversations/long/events?text=nowhere"))[1]
        assert (page["items"], page["next"] is None) == ([], False)


async def test_a_sleeping_conversation_is_read_where_it_lies(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([call("think", thought="Hm"), finish("Done.")])) as client:
        name = await worked(client)
        base = f"/conversations/{name}/events?limit=4"
        awake = await pages(client, base, "after")
        state = (await client.ask("GET", f"/conversations/{name}/state"))[1]
        conversation = await client.services.hosting.get(name, EVERYONE)
        assert await conversation.rest()
        assert await pages(client, base, "after") == awake
        assert (await client.ask("GET", f"/conversations/{name}/state"))[1] == state
        assert conversation.state.created is None


async def test_a_state_says_how_a_conversation_is_set_up_then(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done.")])) as client:
        name = (await begin(client))["id"]
        state = f"/conversations/{name}/state"
        before = (await client.ask("GET", state))[1]
        rule = {"verdict": "allow", "tool": "terminal", "pattern": "git *", "argument": "command"}
        for control, fields in (
            ("rule", {"rule": rule}),
            ("goal", {"objective": "Green tests", "max_iterations": 2}),
            ("grant", {"amount": 1.5}),
            ("secrets", {"secrets": {"TOKEN": "hidden-value"}}),
        ):
            status, told = await client.ask("POST", f"/conversations/{name}/{control}", fields)
            assert status == 200, told
        after = (await client.ask("GET", state))[1]
        assert after["rules"] == [{"rule": rule, "origin": "session"}]
        assert after["goal"] == {"objective": "Green tests", "iterations": 0, "max_iterations": 2, "outcome": "running"}
        assert (after["granted"], list(after["secrets"])) == (1.5, ["TOKEN"])
        assert "hidden-value" not in str(after)
        assert after["agent"]["llm"] == before["agent"]["llm"]
        then = (await client.ask("GET", f"{state}?at={before['cursor']['seq']}"))[1]
        assert (then["rules"], then["goal"], then["granted"], then["secrets"]) == ([], None, 0, {})


async def test_a_cursor_that_is_not_of_this_log_has_expired(tmp_path: Path) -> None:
    async with served(tmp_path, script()) as client:
        base = f"/conversations/{await worked(client)}"
        for path in ("events?after=10000", "events?after=1&epoch=3", "state?at=10000"):
            status, problem = await client.ask("GET", f"{base}/{path}")
            assert (status, problem["code"]) == (410, "cursor-expired"), path
        for path in ("events?after=-1", "events?limit=1001", "events?order=up", "state?at=x"):
            status, problem = await client.ask("GET", f"{base}/{path}")
            assert (status, problem["code"]) == (422, "validation"), path


async def test_one_event(tmp_path: Path) -> None:
    async with served(tmp_path, script()) as client:
        base = f"/conversations/{await worked(client)}/events"
        status, event = await client.ask("GET", f"{base}/1")
        assert (status, event["type"], event["seq"]) == (200, "ConversationCreated", 1)
        assert (await client.ask("GET", f"{base}/999"))[1]["code"] == "event-missing"
        assert (await client.ask("GET", f"{base}/0"))[1]["code"] == "event-missing"
        assert (await client.ask("GET", f"{base}/x"))[1]["code"] == "not-found"


async def test_the_state_at_any_place(tmp_path: Path) -> None:
    careful = agent(confirmation=AlwaysConfirm())
    async with served(tmp_path, ScriptedLLM([call("terminal", command="ls"), finish("Done.")])) as client:
        made = (await client.ask("POST", "/conversations", {"agent": careful, "message": "Look"}))[1]
        base = f"/conversations/{made['id']}"
        waiting = await settled(client, made["id"])
        asked = waiting["cursor"]["seq"]
        assert (await client.ask("POST", f"{base}/confirm", {"always": "session"}))[0] == 200
        assert (await settled(client, made["id"]))["status"] in ("finished", "waiting_for_confirmation")
        _, first = await client.ask("GET", f"{base}/state?at=0")
        assert (first["status"], first["model"], first["cursor"]["seq"]) == ("idle", "", 0)
        _, then = await client.ask("GET", f"{base}/state?at={asked}")
        assert (then["status"], then["pending"]) == ("waiting_for_confirmation", waiting["pending"])
        _, now = await client.ask("GET", f"{base}/state")
        assert now["cursor"]["seq"] > asked
        assert now["prompt_tokens"] > then["prompt_tokens"] > 0


async def test_blobs_are_of_their_conversation(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([call("terminal", command="seq 1 20000"), finish("Done.")])) as client:
        name = await worked(client)
        found = await pages(client, f"/conversations/{name}/events?type=ObservationEvent&limit=10", "after")
        (sha256,) = {block["sha256"] for event in found for block in event["content"] if block["type"] == "blob"}
        async with client.session.get(f"{client.url}/conversations/{name}/blobs/{sha256}") as answer:
            data = await answer.read()
            assert hashlib.sha256(data).hexdigest() == sha256
            assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
            assert answer.headers["Content-Disposition"].startswith("attachment")
            assert "sandbox" in answer.headers["Content-Security-Policy"]
        fork = (await client.ask("POST", f"/conversations/{name}/fork", {}))[1]["id"]
        async with client.session.get(f"{client.url}/conversations/{fork}/blobs/{sha256}") as answer:
            assert await answer.read() == data
        other = (await begin(client))["id"]
        for wrong in (f"{other}/blobs/{sha256}", f"{name}/blobs/{'0' * 64}", f"{name}/blobs/events.jsonl"):
            status, problem = await client.ask("GET", f"/conversations/{wrong}")
            assert (status, problem["code"]) == (404, "blob-missing")
