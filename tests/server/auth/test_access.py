"""Keys and tickets at the doors of a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import anyio
import msgspec
import pytest
from starlette.requests import HTTPConnection

from agentrt import Tool
from agentrt.errors import ConfigurationError
from agentrt.events import ObservationEvent
from agentrt.protocols import ModelRequest
from agentrt.server import ServerSettings
from agentrt.server.auth import Access
from agentrt.server.auth.credentials import COOKIE
from agentrt.server.principals import EVERYONE, Principal, Scope
from agentrt.server.problems import Refusal
from agentrt.specs.content import plain
from agentrt.storage.shelf import FileShelf
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.testing.scripted import Turn
from tests.proofs.waiting import eventually
from tests.stores import keyring, make_key

from ..served import agent, served
from .connections import connection
from .doors import closed_with, doors

pytestmark = pytest.mark.simulated

EVENTS = {"Accept": "text/event-stream"}


def code_of(refused: pytest.ExceptionInfo[Refusal]) -> tuple[int, str]:
    return refused.value.problem.status, refused.value.problem.code


async def refused(access: Access, asked: HTTPConnection) -> tuple[int, str]:
    with pytest.raises(Refusal) as found:
        await access(asked)
    return code_of(found)


def with_key(key: str) -> HTTPConnection:
    return connection(Authorization=f"Bearer {key}")


async def test_without_keys_on_loopback_whoever_has_the_token_may_do_all(tmp_path: Path) -> None:
    access = Access(FileShelf(tmp_path), ServerSettings())
    assert access.token != Access(FileShelf(tmp_path), ServerSettings()).token, "another one at each start"
    async with access.watching():
        assert access.address("http://127.0.0.1:1") == f"http://127.0.0.1:1/#token={access.token}"
        assert await access(with_key(access.token)) is EVERYONE
        assert await access(connection(cookie=f"{COOKIE}={access.token}")) is EVERYONE
        for shown in (connection(), with_key("anything"), connection(cookie=f"{COOKIE}=x"), with_key("é")):
            assert await refused(access, shown) == (401, "not-authenticated")
        key = await access.create("root", [Scope.ADMIN])
        assert access.address("http://127.0.0.1:1") == "http://127.0.0.1:1"
        assert await refused(access, with_key(access.token)) == (401, "not-authenticated")
        assert (await access(with_key(key))).owner == "root"


def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="16 characters"):
        Access(FileShelf(tmp_path), ServerSettings(token="short"))


@pytest.mark.real
async def test_an_agent_cannot_answer_for_a_person(tmp_path: Path) -> None:
    """Its command asks the server to approve what waits, and looks for the token where commands can look."""
    urls: list[str] = []

    def turns(request: ModelRequest) -> Turn:
        if any(message.role == "tool" for message in request.messages):
            return finish("Tried.")
        ask = f"curl -s -o /dev/null -w 'status %{{http_code}}\\n' -X POST {urls[0]}/conversations/c/confirm"
        look = f"env; cat $(find {tmp_path} -type f)"
        return call("terminal", command=f"{ask}; {ask} -H 'Authorization: Bearer x'; {look}")

    async with served(tmp_path, ScriptedLLM(turns)) as client:
        urls.append(client.url)
        wanted = {"id": "c", "agent": agent(tools=(Tool("terminal"),)), "message": "go"}
        assert (await client.ask("POST", "/conversations", wanted))[0] == 201
        conversation = await client.services.hosting.get("c", EVERYONE)
        await conversation.run()
        results = [event async for event in conversation.events() if isinstance(event, ObservationEvent)]
        token = client.services.access.token
    told = plain(results[0].content)
    assert told.count("status 401") == 2
    assert "PATH=" in told
    assert token not in told


async def test_without_keys_elsewhere_nobody_may(tmp_path: Path) -> None:
    access = Access(FileShelf(tmp_path), ServerSettings(host="0.0.0.0"))
    async with access.watching():
        assert await refused(access, connection()) == (401, "not-authenticated")


async def test_a_key_tells_whose_it_is_and_what_he_may(tmp_path: Path) -> None:
    access = Access(FileShelf(tmp_path), ServerSettings())
    async with access.watching():
        key = await access.create("ada", [Scope.OBSERVE])
        assert await access(with_key(key)) == Principal("ada", frozenset({Scope.OBSERVE}), key.split("_")[1])
        assert await refused(access, connection()) == (401, "not-authenticated")


@pytest.mark.parametrize("kind", ["other secret", "no such id", "garbage", "empty secret"])
async def test_what_is_not_the_key_is_refused_and_all_of_it_alike(tmp_path: Path, kind: str) -> None:
    access = Access(FileShelf(tmp_path), ServerSettings())
    async with access.watching():
        key = await access.create("ada", [Scope.OBSERVE])
        head, secret = key.rsplit("_", 1)[0], "x" * 43
        shown = {
            "other secret": f"{'_'.join(key.split('_')[:2])}_{secret}",
            "no such id": f"agentrt_000000000000_{secret}",
            "garbage": "garbage",
            "empty secret": f"{head}_",
        }[kind]
        with pytest.raises(Refusal) as found:
            await access(with_key(shown))
        assert code_of(found) == (401, "not-authenticated")
        assert found.value.problem.detail == "the key, token or ticket is unknown or has expired"
        assert found.value.headers == {"WWW-Authenticate": 'Bearer realm="agentrt"'}


async def test_a_key_of_another_process_is_good_at_once_and_closes_the_server_soon(tmp_path: Path) -> None:
    access = Access(FileShelf(tmp_path), ServerSettings(), look_every=0.02)
    async with access.watching():
        await access.create("root", [Scope.ADMIN])
        key = await make_key(tmp_path, "ada", [Scope.OBSERVE])
        assert (await access(with_key(key))).owner == "ada"
    access = Access(FileShelf(tmp_path / "other"), ServerSettings(), look_every=0.02)
    async with access.watching():
        assert access.is_open
        await make_key(tmp_path / "other", "ada", [Scope.OBSERVE])
        await eventually(lambda: not access.is_open, "it is closed", 10)
        assert await refused(access, connection()) == (401, "not-authenticated")


async def test_expired_and_revoked_keys_are_refused(tmp_path: Path) -> None:
    now = [1000.0]
    access = Access(FileShelf(tmp_path), ServerSettings(), lambda: now[0])
    async with access.watching():
        short = await access.create("ada", [Scope.OBSERVE], days=1)
        revoked = await access.create("ada", [Scope.OBSERVE])
        await access(with_key(short))
        now[0] += 86400
        assert await refused(access, with_key(short)) == (401, "not-authenticated")
        await access(with_key(revoked))
        await access.revoke(revoked.split("_")[1])
        assert await refused(access, with_key(revoked)) == (401, "not-authenticated")
        assert not access.is_open


async def test_a_file_that_breaks_lets_nobody_in(tmp_path: Path) -> None:
    access = Access(FileShelf(tmp_path), ServerSettings(), look_every=0.02)
    async with access.watching():
        key = await access.create("ada", [Scope.OBSERVE])
        (tmp_path / "keys.json").write_text("{")
        await eventually(lambda: not access.keyring.keys, "the keys are gone", 10)
        assert await refused(access, with_key(key)) == (401, "not-authenticated")
        assert await refused(access, connection()) == (401, "not-authenticated")


async def test_a_ticket_is_its_keys_for_once(tmp_path: Path) -> None:
    def shown(ticket: str) -> HTTPConnection:
        return connection(kind="websocket", query=f"ticket={ticket}")

    access = Access(FileShelf(tmp_path), ServerSettings())
    async with access.watching():
        open_ticket = access.tickets.issue(EVERYONE)
        assert await access(shown(access.tickets.issue(EVERYONE))) is EVERYONE
        assert await refused(access, shown("wrong")) == (401, "not-authenticated")
        key = await access.create("ada", [Scope.OBSERVE])
        assert await refused(access, shown(open_ticket)) == (401, "not-authenticated"), "the server was open then"
        ada = await access(with_key(key))
        ticket, other = access.tickets.issue(ada), access.tickets.issue(ada)
        assert await access(shown(ticket)) == ada
        assert await refused(access, shown(ticket)) == (401, "not-authenticated")
        await access.revoke(ada.key)
        assert await refused(access, shown(other)) == (401, "not-authenticated")


@pytest.mark.real
async def test_the_first_key_over_http_is_an_admins_and_closes_the_server(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        status, problem = await client.ask("POST", "/keys", {"owner": "ada", "scopes": ["steer"]})
        assert (status, problem["code"]) == (409, "first-key")
        status, made = await client.ask("POST", "/keys", {"owner": "root", "scopes": ["admin"]})
        assert status == 201
        assert (await client.ask("GET", "/keys"))[0] == 401
        admin = {"Authorization": f"Bearer {made['key']}"}
        status, new = await client.ask("POST", "/keys", {"owner": "ada", "scopes": ["observe"], "days": 1}, **admin)
        assert status == 201
        assert new["info"]["expires"] - new["info"]["created"] == pytest.approx(86400)
        status, listed = await client.ask("GET", "/keys", **admin)
        assert [item["owner"] for item in listed["items"]] == ["root", "ada"]
        assert new["key"].split("_", 2)[2] not in msgspec.json.encode(listed).decode()
        assert "digest" not in msgspec.json.encode(listed).decode()
        assert (await client.ask("DELETE", f"/keys/{new['info']['id']}", **admin))[0] == 204
        assert (await client.ask("DELETE", "/keys/nothing", **admin))[1]["code"] == "key-missing"
        assert (await client.ask("POST", "/keys", {"owner": "../x", "scopes": ["steer"]}, **admin))[0] == 422
        assert (await client.ask("POST", "/keys", {"owner": "x", "scopes": []}, **admin))[0] == 422


@pytest.mark.real
async def test_a_browsers_socket_opens_with_a_ticket(tmp_path: Path) -> None:
    async with doors(tmp_path) as at:
        conversation = await at.begin("ada")
        path = f"/conversations/{conversation}/events"

        async def ticket(name: str) -> str:
            status, made = await at.ask(name, "POST", "/tickets")
            assert (status, made["expires_in"]) == (201, 30)
            return str(made["ticket"])

        mine, theirs = await ticket("ada"), await ticket("bob")
        async with at.socket(f"{path}?ticket={mine}") as socket:
            assert "ConversationCreated" in (await socket.receive_str())
        for query, code in ((f"?ticket={mine}", 4001), ("", 4001), ("?ticket=x", 4001), (f"?ticket={theirs}", 4004)):
            async with at.socket(path + query) as socket:
                assert await closed_with(socket) == code, query
        url = at.client.url + path
        async with at.client.session.get(f"{url}?ticket={await ticket('ada')}", headers=EVENTS) as stream:
            assert stream.status == 200
        assert (await at.client.ask("GET", f"{path}?ticket={await ticket('ada')}"))[1]["code"] == "ticket-not-taken"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await at.socket(f"{path}?api_key={at.keys['ada']}")
        assert refusal.value.status == 400


@pytest.mark.real
@pytest.mark.parametrize("way", ["over http", "another process"])
async def test_a_revoked_key_ends_what_was_opened_with_it(tmp_path: Path, way: str) -> None:
    async with doors(tmp_path) as at, anyio.create_task_group() as tasks:
        conversation, theirs = await at.begin("ada"), await at.begin("bob")
        path = f"/conversations/{conversation}/events"
        ended: list[Any] = []

        async def follow(place: str, stays: bool, **options: Any) -> None:
            async with at.socket(place, **options) as socket:
                await socket.receive_str()
                if not stays:
                    ended.append(await closed_with(socket))
                else:
                    with anyio.move_on_after(0.5):
                        await closed_with(socket)
                    ended.append("stays")

        async def stream() -> None:
            headers = EVENTS | at.header("ada")
            async with at.client.session.get(at.client.url + path, headers=headers) as found:
                await found.content.readline()
                opened.set()
                await found.content.read()
                ended.append("stream")

        opened = anyio.Event()
        ticket = (await at.ask("ada", "POST", "/tickets"))[1]["ticket"]
        unused = (await at.ask("ada", "POST", "/tickets"))[1]["ticket"]
        tasks.start_soon(lambda: follow(path, False, headers=at.header("ada")))
        tasks.start_soon(lambda: follow(f"{path}?ticket={ticket}", False))
        tasks.start_soon(stream)
        await opened.wait()
        key_id = at.keys["ada"].split("_")[1]
        if way == "over http":
            assert (await at.ask("root", "DELETE", f"/keys/{key_id}"))[0] == 204
        else:
            await keyring(at.root).revoke(key_id)
        await eventually(lambda: len(ended) == 3, "three are ended", 10)
        assert sorted(map(str, ended)) == ["4001", "4001", "stream"]
        assert (await at.ask("ada", "GET", "/conversations"))[0] == 401
        async with at.socket(f"{path}?ticket={unused}") as socket:
            assert await closed_with(socket) == 4001
        tasks.start_soon(lambda: follow(f"/conversations/{theirs}/events", True, headers=at.header("bob")))
        await eventually(lambda: len(ended) == 4, "the last follows", 10)
        assert ended[-1] == "stays"
