"""How often, and how much at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from agentrt.errors import ConfigurationError
from agentrt.server import ServerSettings
from agentrt.server.auth.gate import Gate, Visit, address_of, key_of
from agentrt.server.problems import Refusal
from agentrt.testing import ScriptedLLM

from ..served import served
from .connections import connection
from .doors import closed_with, doors

pytestmark = pytest.mark.real


async def test_a_key_that_asks_too_often_is_told_when_to_ask_again(tmp_path: Path) -> None:
    async with doors(tmp_path, rate="5/minute") as at:
        for _ in range(5):
            assert (await at.ask("ada", "GET", "/conversations"))[0] == 200
        async with at.client.session.get(at.client.url + "/conversations", headers=at.header("ada")) as answer:
            assert answer.status == 429
            assert answer.content_type == "application/problem+json"
            assert 1 <= int(answer.headers["Retry-After"]) <= 120
        assert (await at.ask("bob", "GET", "/conversations"))[0] == 200, "others are not slowed"
        async with at.socket("/events", headers=at.header("ada")) as socket:
            assert await closed_with(socket) == 1013


async def test_without_a_key_an_address_is_counted(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), rate="5/minute")
    async with served(tmp_path, ScriptedLLM([]), settings) as client:
        statuses = [(await client.ask("GET", path))[0] for path in ("/alive", "/conversations", "/nowhere") * 2]
        assert statuses == [200, 200, 404, 200, 200, 429]
        async with client.session.ws_connect(client.url + "/events") as socket:
            assert await closed_with(socket) == 1013


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer junk"}, {"X-Session-API-Key": "junk"}])
async def test_a_key_that_is_none_is_no_way_around_the_count(tmp_path: Path, headers: dict[str, str]) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), rate="5/minute")
    async with served(tmp_path, ScriptedLLM([]), settings) as client:
        statuses = [(await client.ask("GET", path, **headers))[0] for path in ("/alive", "/conversations") * 3]
        assert statuses == [200, 401, 200, 401, 200, 429]
    async with doors(tmp_path / "closed", rate="5/minute") as at:
        statuses = [(await at.client.ask("GET", "/alive", **headers))[0] for _ in range(6)]
        assert statuses == [200] * 5 + [429]
        assert (await at.ask("ada", "GET", "/alive"))[0] == 200


async def test_logins_that_fail_are_slowed_and_those_that_do_not_are_not(tmp_path: Path) -> None:
    async with doors(tmp_path, failed_logins="3/minute") as at:
        wrong = {"Authorization": f"Bearer {at.keys['ada'][:-4]}AAAA"}
        statuses = [(await at.client.ask("GET", "/conversations", **wrong))[0] for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]
        async with at.socket("/events?ticket=wrong") as socket:
            assert await closed_with(socket) == 1013
        assert (await at.ask("ada", "GET", "/conversations"))[0] == 200


async def test_sockets_of_a_key_are_counted_while_they_are_open(tmp_path: Path) -> None:
    async with doors(tmp_path, max_sockets=2) as at:
        made = await at.begin("ada")
        stream = {"Accept": "text/event-stream", **at.header("ada")}
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(at.socket("/events", headers=at.header("ada")))
            events = at.client.url + f"/conversations/{made}/events"
            await stack.enter_async_context(at.client.session.get(events, headers=stream))
            async with at.socket("/events", headers=at.header("ada")) as socket:
                assert await closed_with(socket) == 1013
            async with at.client.session.get(events, headers=stream) as answer:
                assert answer.status == 429
            async with at.socket("/events", headers=at.header("bob")) as socket:
                assert not socket.closed
            assert (await at.ask("ada", "GET", "/conversations"))[0] == 200
            await first.close()
            with anyio.fail_after(10):
                while True:
                    async with at.client.session.get(events, headers=stream) as answer:
                        if answer.status == 200:
                            break


async def test_requests_of_a_key_are_counted_while_they_are_answered(tmp_path: Path) -> None:
    async with doors(tmp_path, max_requests=1) as at:
        made = await at.begin("ada")
        place = f"{at.client.url}/conversations/{made}/files/content?path=x"
        begun, go_on = anyio.Event(), anyio.Event()

        async def body() -> AsyncIterator[bytes]:
            yield b"x"
            begun.set()
            await go_on.wait()

        async with anyio.create_task_group() as tasks:

            async def upload() -> None:
                async with at.client.session.put(place, data=body(), headers=at.header("ada")) as answer:
                    assert answer.status == 201

            tasks.start_soon(upload)
            await begun.wait()
            with anyio.fail_after(10):
                while (found := await at.ask("ada", "GET", "/conversations"))[0] == 200:
                    pass
            assert found[1]["code"] == "too-many-at-once"
            assert (await at.ask("bob", "GET", "/conversations"))[0] == 200
            go_on.set()
        with anyio.fail_after(10):
            while (await at.ask("ada", "GET", "/conversations"))[0] != 200:
                pass


@pytest.mark.simulated
async def test_what_is_open_is_forgotten_when_it_ends() -> None:
    gate = Gate(ServerSettings(max_sockets=1))
    for _ in range(3):
        visit = Visit(stream=True)
        await gate.admit("address x", visit)
        await gate.admit(key_of("a"), visit)
        await gate.admit(key_of("a"), visit)
        with pytest.raises(Refusal):
            await gate.admit(key_of("a"), Visit(stream=True))
        gate.leave(visit)
        gate.leave(Visit(stream=True))
    asked = list[str]()

    def is_good(key: str) -> bool:
        asked.append(key)
        return True

    gate.cut(is_good)
    assert asked == [], "it knows of no key that has something open"


@pytest.mark.simulated
async def test_limits_may_be_taken_away() -> None:
    gate = Gate(ServerSettings(rate=None, failed_logins=None))
    for _ in range(20_000):
        await gate.admit("address x", None)
        await gate.failed(connection())


@pytest.mark.pure
@pytest.mark.parametrize("rate", ["many", "5/fortnight", "", "-1/minute"])
def test_a_rate_is_a_number_and_a_time(rate: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a rate"):
        Gate(ServerSettings(rate=rate))


@pytest.mark.pure
def test_addresses_are_counted_as_their_owners_have_them() -> None:
    def of(client: str) -> str:
        return address_of(connection(client=client))

    assert of("192.0.2.1") != of("192.0.2.2")
    assert of("2001:db8::1") == of("2001:db8::ffff:1")
    assert of("2001:db8::1") != of("2001:db8:0:1::1")
    assert of("nonsense") == "address None"
