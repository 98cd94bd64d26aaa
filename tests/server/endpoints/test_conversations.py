from __future__ import annotations

from pathlib import Path

import pytest
from starlette.requests import HTTPConnection

from agentrt import LLM, Agent, ConfirmRisky
from agentrt.server import ServerSettings
from agentrt.server.principals import EVERYONE, Principal, Scope
from agentrt.specs import AlwaysConfirm
from agentrt.testing import ScriptedLLM, call, finish, say

from ..served import agent, served
from .helpers import begin, settled

pytestmark = pytest.mark.real


async def as_named(connection: HTTPConnection) -> Principal:
    """Whoever the header names, with all but admin."""
    owner = connection.headers.get("x-owner", "ada")
    return Principal(owner, frozenset({Scope.OBSERVE, Scope.STEER, Scope.APPROVE}))


async def test_one_is_begun_and_described(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done.")])) as client:
        made = await begin(client, title="A title", tags={"team": "core"}, message="Begin\nnow")
        info = await settled(client, made["id"])
        assert info["status"] == "finished"
        assert (info["title"], info["tags"], info["model"]) == ("A title", {"team": "core"}, "scripted/model")
        assert info["workspace"] == str(tmp_path / "workspaces" / made["id"])
        assert info["cursor"]["epoch"] == 0
        assert info["cursor"]["seq"] > 5
        assert info["prompt_tokens"] > 0
        assert (info["cost"], info["unpriced"]) == (0.0, 1), "a price that nobody knows is not nothing"
        assert (info["owner"], info["parent"], info["delegated_by"]) == (None, None, None)
        assert (info["pending"], info["error"]) == ([], None)
        assert info["created"] <= info["updated"]


async def test_one_is_begun_with_what_python_takes(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([call("terminal", command="echo there"), finish("Done.")])) as client:
        made = await begin(client, agent={"llm": "scripted/short", "tools": ["terminal"]}, message="Begin")
        info = await settled(client, made["id"])
        assert (info["status"], info["model"]) == ("finished", "scripted/short")
        status, problem = await client.ask("POST", "/conversations", {"agent": {"llm": {"model": "scripted/short"}}})
        assert status == 422
        assert "`type`, which is one of 'LLM', 'FallbackLLM', 'RouterLLM' - at `$.agent.llm`" in problem["detail"]


@pytest.mark.parametrize("confirmation", [None, {"type": "NeverConfirm"}])
async def test_an_agent_that_says_nothing_of_it_asks_as_the_servers_own_does(
    tmp_path: Path, confirmation: dict[str, str] | None
) -> None:
    own = Agent(LLM("scripted/model"), confirmation=ConfirmRisky())
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), agent=own)
    turns = [call("terminal", command="rm -rf ~/nothing-here"), finish("Done.")]
    async with served(tmp_path, ScriptedLLM(turns), settings) as client:
        given = {"llm": "scripted/model"} | ({} if confirmation is None else {"confirmation": confirmation})
        info = await settled(client, (await begin(client, agent=given, message="Clean up"))["id"])
        assert info["status"] == ("waiting_for_confirmation" if confirmation is None else "finished")


async def test_one_without_a_title_is_called_by_what_was_asked(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done.")])) as client:
        made = await begin(client, message="Mend the roof\nbefore it rains")
        await settled(client, made["id"])
        _, info = await client.ask("GET", f"/conversations/{made['id']}")
        _, page = await client.ask("GET", "/conversations")
        assert info["title"] == page["items"][0]["title"] == "Mend the roof"


async def test_one_that_sleeps_is_described_without_being_woken(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done.")])) as client:
        made = await begin(client, message="Begin")
        awake = await settled(client, made["id"])
        conversation = await client.services.hosting.get(made["id"], EVERYONE)
        assert await conversation.rest()
        assert (await client.ask("GET", f"/conversations/{made['id']}"))[1] == awake
        assert conversation.state.created is None


async def test_the_same_key_begins_one_conversation(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([say("Yes."), say("Yes.")])) as client:
        body = {"agent": agent(), "message": "Begin"}
        first, one = await client.ask("POST", "/conversations", body, **{"Idempotency-Key": "k1"})
        again, other = await client.ask("POST", "/conversations", body, **{"Idempotency-Key": "k1"})
        third, another = await client.ask("POST", "/conversations", body, **{"Idempotency-Key": "k2"})
        assert (first, again, third) == (201, 200, 201)
        assert one["id"] == other["id"] != another["id"]
        await settled(client, one["id"])
        _, page = await client.ask("GET", f"/conversations/{one['id']}/events?type=MessageEvent&source=user")
        assert len(page["items"]) == 1


async def test_an_id_that_is_taken_is_refused_but_for_the_same_key(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), authenticate=as_named) as client:
        body = {"agent": agent(), "id": "mine"}
        assert (await client.ask("POST", "/conversations", body))[0] == 201
        status, problem = await client.ask("POST", "/conversations", body)
        assert (status, problem["code"]) == (409, "conversation-exists")
        status, found = await client.ask("POST", "/conversations", body, **{"Idempotency-Key": "k"})
        assert (status, found["id"]) == (200, "mine")
        status, problem = await client.ask("POST", "/conversations", body, **{"Idempotency-Key": "k", "X-Owner": "bob"})
        assert (status, problem["code"]) == (409, "conversation-exists")


async def test_nothing_is_begun_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "workspaces").mkdir(exist_ok=True)
    (tmp_path / "workspaces" / "round").symlink_to("round")
    async with served(tmp_path, ScriptedLLM([])) as client:
        for body, status, code in (
            ({"agent": agent(), "tags": {"No!": "x"}}, 422, "configuration"),
            ({"agent": agent(), "workspace": "/etc"}, 422, "configuration"),
            ({"agent": agent(), "workspace": "nowhere"}, 409, "workspace-missing"),
            ({"agent": agent(), "workspace": "a\0b"}, 422, "configuration"),
            ({"agent": agent(), "workspace": "x" * 300}, 409, "workspace-missing"),
            ({"agent": agent(), "workspace": "round"}, 409, "workspace-missing"),
            ({"agent": agent(), "id": "../up"}, 422, "validation"),
            ({}, 422, "configuration"),
        ):
            told, problem = await client.ask("POST", "/conversations", body)
            assert (told, problem["code"]) == (status, code), body
        assert (await client.ask("GET", "/conversations"))[1]["items"] == []


async def test_a_list_goes_on_where_it_ended(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        made = [(await begin(client, tags={"n": str(n)}))["id"] for n in range(5)]
        found, after = list[str](), ""
        while True:
            status, page = await client.ask("GET", f"/conversations?limit=2{after}")
            assert status == 200
            found += [item["id"] for item in page["items"]]
            if page["next"] is None:
                break
            after = f"&after={page['next']}"
        assert sorted(found) == sorted(made)
        assert len(set(found)) == 5
        _, page = await client.ask("GET", "/conversations?tag=n:3")
        assert [item["id"] for item in page["items"]] == [made[3]]
        _, page = await client.ask("GET", f"/conversations?query={made[1][-8:]}&status=idle")
        assert [item["id"] for item in page["items"]] == [made[1]]
        for wrong in ("after=x", "limit=0", "limit=x", "status=gone", "what=1", "limit=1&limit=2", "tag=x", "after=AA"):
            status, problem = await client.ask("GET", f"/conversations?{wrong}")
            assert (status, problem["status"]) == (422, 422), wrong


async def test_what_was_called_without_a_price_is_told_wherever_the_cost_is(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done."), finish("Done.")])) as client:
        base = f"/conversations/{(await begin(client, message='Begin'))['id']}"
        info = await settled(client, base.rpartition("/")[2])
        (listed,) = (await client.ask("GET", "/conversations"))[1]["items"]
        state = (await client.ask("GET", f"{base}/state"))[1]
        before = (await client.ask("GET", f"{base}/state?at=2"))[1]
        assert [told["unpriced"] for told in (info, listed, state, before)] == [1, 1, 1, 0]
        conversation = await client.services.hosting.get(info["id"], EVERYONE)
        assert await conversation.rest()
        assert (await client.ask("GET", "/conversations"))[1]["items"][0]["unpriced"] == 1


async def test_conversations_are_counted(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done.")]), authenticate=as_named) as client:

        async def counted(query: str = "", **headers: str) -> int:
            status, told = await client.ask("GET", f"/conversations/count{query}", **headers)
            assert status == 200, told
            return int(told["count"])

        assert await counted() == 0
        names = [(await begin(client, title=f"No. {n}", tags={"n": str(n % 2)}))["id"] for n in range(4)]
        await begin(client, message="Begin")
        await client.ask("POST", f"/conversations/{names[0]}/message", {"content": "Begin", "run": True})
        assert await counted() == 5
        assert await counted("", **{"X-Owner": "bob"}) == 0
        assert await counted("?tag=n:1") == 2
        assert await counted("?query=no.") == 4
        for status in ("idle", "running", "finished", "error"):
            page = (await client.ask("GET", f"/conversations?status={status}"))[1]["items"]
            assert await counted(f"?status={status}") == len(page)
        conversation = await client.services.hosting.get(names[1], Principal("ada", frozenset(Scope)))
        assert await conversation.rest()
        assert await counted("?status=idle&tag=n:1") == 2
        assert (await client.ask("DELETE", f"/conversations/{names[1]}"))[0] == 204
        assert await counted("?tag=n:1") == 1
        assert (await client.ask("GET", "/conversations/count?limit=1"))[0] == 422


async def test_none_is_called_as_a_path_is(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        made = await begin(client)
        for path, body in (("", {"agent": agent(), "id": "count"}), (f"/{made['id']}/fork", {"id": "count"})):
            status, problem = await client.ask("POST", f"/conversations{path}", body)
            assert (status, problem["code"]) == (422, "configuration")
        assert (await client.ask("GET", "/conversations/count"))[1] == {"count": 1}


async def test_a_list_has_only_what_the_owner_may_see(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), authenticate=as_named) as client:
        made = await begin(client)
        _, page = await client.ask("GET", "/conversations")
        assert [item["owner"] for item in page["items"]] == ["ada"]
        assert (await client.ask("GET", "/conversations", **{"X-Owner": "bob"}))[1]["items"] == []
        for method, path, body in (("GET", "", None), ("PATCH", "", {"title": "x"}), ("DELETE", "", None)):
            status, problem = await client.ask(method, f"/conversations/{made['id']}{path}", body, **{"X-Owner": "bob"})
            assert (status, problem["code"]) == (404, "conversation-missing")


async def test_what_waits_is_in_the_list_also_after_a_restart(tmp_path: Path) -> None:
    careful = agent(confirmation=AlwaysConfirm())
    model = ScriptedLLM([call("terminal", command="ls")])
    async with served(tmp_path, model) as client:
        status, made = await client.ask("POST", "/conversations", {"agent": careful, "message": "Look"})
        assert status == 201
        info = await settled(client, made["id"])
        assert info["status"] == "waiting_for_confirmation"
        (pending,) = info["pending"]
        assert (pending["tool_name"], pending["arguments"]) == ("terminal", {"command": "ls"})
        assert pending["held"] == "every"
    async with served(tmp_path, model) as client:
        _, page = await client.ask("GET", "/conversations")
        assert page["items"][0]["pending"] == [pending]


async def test_title_and_tags_change(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        path = f"/conversations/{(await begin(client, tags={'a': '1'}))['id']}"
        assert (await client.ask("PATCH", path, {"title": "Other"}))[1]["title"] == "Other"
        _, info = await client.ask("PATCH", path, {"tags": {"b": "2"}})
        assert (info["title"], info["tags"]) == ("Other", {"b": "2"})
        assert (await client.ask("PATCH", path, {"tags": {"B": "2"}}))[1]["code"] == "configuration"
        assert (await client.ask("PATCH", path, {"owner": "me"}))[0] == 422


async def test_one_is_deleted(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        path = f"/conversations/{(await begin(client))['id']}"
        assert await client.ask("DELETE", path) == (204, None)
        assert (await client.ask("GET", path))[1]["code"] == "conversation-missing"
        assert (await client.ask("DELETE", path))[0] == 404
        assert (await client.ask("GET", "/conversations"))[1]["items"] == []
