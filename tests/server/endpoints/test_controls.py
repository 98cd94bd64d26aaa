from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentrt.specs import AlwaysConfirm
from agentrt.testing import ScriptedLLM, call, finish, say

from ..served import Client, agent, served
from .helpers import begin, settled

pytestmark = pytest.mark.real


async def said(client: Client, name: str) -> list[str]:
    """The ids of what the user said."""
    _, page = await client.ask("GET", f"/conversations/{name}/events?type=MessageEvent&source=user")
    return [event["id"] for event in page["items"]]


async def test_a_message_is_said_once(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = (await begin(client))["id"]
        path, headers = f"/conversations/{name}/message", {"Idempotency-Key": "k-1"}
        status, first = await client.ask("POST", path, {"content": "Hi"}, **headers)
        assert (status, set(first)) == (200, {"epoch", "seq"})
        assert (await client.ask("POST", path, {"content": "Hi"}, **headers))[0] == 200
        assert (await client.ask("POST", path, {"content": "Hi", "id": "m-2"}))[0] == 200
        assert (await client.ask("POST", path, {"content": "Hi", "id": "m-2"}))[0] == 200
        assert (await client.ask("POST", path, {"content": [{"type": "text", "text": "Hi"}]}))[0] == 200
        ids = await said(client, name)
        assert ids[:2] == ["k-1", "m-2"]
        assert len(ids) == 3
        status, problem = await client.ask("POST", path, {"content": "Hi"}, **{"Idempotency-Key": "k" * 129})
        assert (status, problem["code"]) == (422, "idempotency-key")


async def test_a_message_that_was_answered_is_not_run_again(tmp_path: Path) -> None:
    model = ScriptedLLM([call("think", thought="Hm"), say("Yes?")])
    async with served(tmp_path, model) as client:
        name = (await begin(client))["id"]
        body = {"content": "Hi", "id": "m-1", "run": True}
        assert (await client.ask("POST", f"/conversations/{name}/message", body))[0] == 200
        before = await settled(client, name)
        assert (await client.ask("POST", f"/conversations/{name}/message", body))[0] == 200
        assert await settled(client, name) == before


@pytest.mark.parametrize(
    ("tag", "body"),
    [
        ("pause", {}),
        ("interrupt", {"reason": "Enough"}),
        ("confirmation_policy", {"policy": {"type": "AlwaysConfirm"}}),
        ("security_analyzer", {"names": ["rules"]}),
        ("configure", {"changes": {"limits": {"max_steps": 7}}}),
        ("switch_llm", {"llm": {"type": "LLM", "model": "scripted/other"}}),
        ("switch_llm", {"llm": "scripted/other"}),
        ("secrets", {"secrets": {"TOKEN": "abcdefgh-secret"}}),
        ("goal", {"objective": "All is well"}),
        ("rename", {"title": "New"}),
        ("tags", {"tags": {"a": "b"}}),
        ("grant", {"amount": 2.5}),
        ("condense", {}),
        ("rule", {"rule": {"verdict": "allow", "tool": "terminal", "pattern": "git *"}}),
        ("rewind", {"to": 2}),
        ("run", {}),
    ],
)
async def test_controls_move_the_cursor(tmp_path: Path, tag: str, body: dict[str, Any]) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done.")])) as client:
        made = await begin(client)
        status, cursor = await client.ask("POST", f"/conversations/{made['id']}/{tag}", body)
        assert status == 200, cursor
        assert cursor["seq"] > made["cursor"]["seq"]
        status, problem = await client.ask("POST", f"/conversations/{made['id']}/{tag}", {"nonsense": 1})
        assert (status, problem["code"]) == (422, "validation")


async def test_what_waits_is_confirmed_or_rejected(tmp_path: Path) -> None:
    model = ScriptedLLM([call("terminal", command="true"), call("terminal", command="false"), finish("Done.")])
    async with served(tmp_path, model) as client:
        careful = agent(confirmation=AlwaysConfirm())
        name = (await begin(client, agent=careful, message="Go"))["id"]
        (first,) = (await settled(client, name))["pending"]
        assert (await client.ask("POST", f"/conversations/{name}/confirm", {"action_ids": [first["id"]]}))[0] == 200
        (second,) = (await settled(client, name))["pending"]
        assert second["id"] != first["id"]
        assert (await client.ask("POST", f"/conversations/{name}/reject", {"reason": "No."}))[0] == 200
        await settled(client, name)
        _, page = await client.ask("GET", f"/conversations/{name}/events?type=UserRejectObservation")
        assert [event["rejection_reason"] for event in page["items"]] == ["No."]


async def test_answers_and_forks(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([finish("Done."), say("Forty-two."), say("A title")])) as client:
        name = (await begin(client, message="Begin"))["id"]
        await settled(client, name)
        base = f"/conversations/{name}"
        assert (await client.ask("GET", base))[1]["answer"] == "Done."
        assert (await client.ask("GET", "/conversations"))[1]["items"][0]["id"] == name
        assert await client.ask("POST", f"{base}/ask_agent", {"question": "How many?"}) == (200, {"text": "Forty-two."})
        assert await client.ask("POST", f"{base}/generate_title", {}) == (200, {"text": "A title"})
        status, forked = await client.ask("POST", f"{base}/fork", {"id": "a-fork"})
        assert (status, forked) == (200, {"id": "a-fork"})
        assert (await client.ask("GET", "/conversations/a-fork"))[1]["parent"] == name
        assert (await client.ask("POST", f"{base}/fork", {"id": "a-fork"}))[1]["code"] == "conversation-exists"


async def test_what_cannot_be_is_told(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        base = f"/conversations/{(await begin(client))['id']}"
        for tag, body, status, code in (
            ("message", {"content": 5}, 422, "validation"),
            ("message", {}, 422, "validation"),
            ("grant", {"amount": -1}, 422, "configuration"),
            ("goal", {"objective": "x", "max_iterations": 0}, 422, "configuration"),
            ("rewind", {"to": 10**6}, 409, "event-refused"),
            ("configure", {"changes": {"self": 1}}, 422, "configuration"),
            ("configure", {"changes": {"llm": 1}}, 422, "validation"),
            ("tags", {"tags": {"A": "b"}}, 422, "configuration"),
            ("security_analyzer", {"names": ["nobody"]}, 422, "configuration"),
            ("fork", {"at": 99}, 410, "cursor-expired"),
            ("fork", {"id": "a/b"}, 422, "configuration"),
        ):
            told, problem = await client.ask("POST", f"{base}/{tag}", body)
            assert (told, problem.get("code")) == (status, code), (tag, body, problem)
        status, problem = await client.ask("POST", f"{base}/switch_llm", {"llm": {"type": "LLM", "model": 5}})
        assert problem["detail"].endswith("`$.llm.model`")
