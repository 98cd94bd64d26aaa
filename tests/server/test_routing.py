from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from agentrt.server import ServerSettings
from agentrt.server.principals import Principal, Scope
from agentrt.testing import ScriptedLLM

from .endpoints.helpers import begin
from .served import Client, served

pytestmark = pytest.mark.real

JSON = {"Content-Type": "application/json"}


async def told(client: Client, method: str, path: str, data: bytes | None = None, **headers: str) -> tuple[int, str]:
    """The status and the code of a problem."""
    async with client.session.request(method, client.url + path, data=data, headers=headers) as answer:
        assert answer.headers["Content-Type"] == "application/problem+json"
        problem = msgspec.json.decode(await answer.read())
        assert problem["status"] == answer.status
        assert problem["title"]
        return answer.status, problem["code"]


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"{", 400, "bad-json"),
        (b"\xff", 400, "bad-json"),
        (b'{"title":"\xff"}', 400, "bad-json"),
        (b'{"title":"\\ud800"}', 400, "bad-json"),
        (b"[]", 422, "validation"),
        (b"null", 422, "validation"),
        (b'{"title":5}', 422, "validation"),
        (b'{"titel":"x"}', 422, "validation"),
        (b'{"agent":{"llm":{"type":"LLM","model":7}}}', 422, "validation"),
        (b'{"agent":{"llm":{"type":"LLM","model":"m","seed":1' + b"0" * 30 + b"}}}", 422, "validation"),
        (b'{"agent":{"llm":{"type":"LLM","model":"m","extra_body":{"a":' + b"[" * 100_000 + b"}}}}", 400, "bad-json"),
    ],
)
async def test_a_body_that_makes_no_sense(tmp_path: Path, data: bytes, status: int, code: str) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        assert await told(client, "POST", "/conversations", data, **JSON) == (status, code)


async def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        _, problem = await client.ask("POST", "/conversations", {"agent": {"llm": {"type": "LLM", "model": 7}}})
        assert problem["detail"] == "Expected `str`, got `int` - at `$.agent.llm.model`"
        _, problem = await client.ask("GET", "/conversations?limit=x")
        assert problem["detail"].endswith("`$.limit`")


async def test_other_media_types_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            assert await told(client, "POST", "/conversations", b"{}", **{"Content-Type": kind}) == (415, "media-type")
        assert await told(client, "GET", "/conversations", Accept="text/html") == (406, "not-acceptable")
        assert await told(client, "GET", "/conversations", Accept="application/json;q=0") == (406, "not-acceptable")
        for kind in ("*/*", "text/html, application/*;q=0.1", "application/json", ""):
            assert (await client.ask("GET", "/conversations", Accept=kind))[0] == 200


async def test_a_body_is_bounded(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), max_body=1000)
    async with served(tmp_path, ScriptedLLM([]), settings) as client:
        data = b'{"title":"' + b"x" * 1000 + b'"}'
        assert await told(client, "POST", "/conversations", data, **JSON) == (413, "body-too-large")


async def test_what_a_path_does_not_take_is_told_with_what_it_does(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        name = (await begin(client))["id"]
        for path, allow in (
            ("/conversations", "GET, HEAD, OPTIONS, POST"),
            (f"/conversations/{name}", "DELETE, GET, HEAD, OPTIONS, PATCH"),
            (f"/conversations/{name}/pause", "OPTIONS, POST"),
        ):
            async with client.session.request("PUT", client.url + path) as answer:
                assert (answer.status, answer.headers["Allow"]) == (405, allow)
                assert msgspec.json.decode(await answer.read())["code"] == "method-not-allowed"
            async with client.session.options(client.url + path) as answer:
                assert (answer.status, answer.headers["Allow"], await answer.read()) == (204, allow, b"")
        async with client.session.head(f"{client.url}/conversations/{name}") as answer:
            assert (answer.status, await answer.read()) == (200, b"")
        assert await told(client, "GET", "/conversations/") == (404, "not-found")
        assert await told(client, "GET", "/conversations/-x/events") == (404, "conversation-missing")
        assert await told(client, "GET", "/conversations/a%00b") == (404, "conversation-missing")


async def test_a_scope_is_needed(tmp_path: Path) -> None:
    async def observer(connection: object) -> Principal:
        return Principal("ada", frozenset({Scope.OBSERVE}))

    async with served(tmp_path, ScriptedLLM([]), authenticate=observer) as client:
        assert (await client.ask("GET", "/conversations"))[0] == 200
        assert await told(client, "POST", "/conversations", b"{", **JSON) == (403, "scope")
