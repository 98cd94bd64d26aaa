"""The server of scripted answers: scripts, connections and failures, on every wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import aiohttp
import anyio
import msgspec
import pytest

from agentrt.testing import (
    Broken,
    Cut,
    Fault,
    ScriptedProvider,
    Stall,
    WireName,
    bad_key,
    content_policy,
    context_window,
    out_of_credit,
    overloaded,
    rate_limit,
    say,
)

pytestmark = pytest.mark.real

USER = {"role": "user", "content": "Look."}
WIRES: dict[WireName, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"messages": [USER]}),
    "responses": ("/v1/responses", {"input": [USER]}),
    "anthropic": ("/v1/messages", {"max_tokens": 100, "messages": [USER]}),
}
every_wire = pytest.mark.parametrize("wire", get_args(WireName))


@every_wire
async def test_a_script_without_more_turns(wire: WireName) -> None:
    path, body = WIRES[wire]
    async with ScriptedProvider([]) as provider, aiohttp.ClientSession() as session:
        async with session.post(provider.url + path, json=body) as response:
            assert response.status == 400
            assert "the script has no turn 1" in await response.text()


async def test_what_it_was_asked_is_kept_in_order() -> None:
    async with ScriptedProvider(lambda body: say("Hi.")) as provider, aiohttp.ClientSession() as session:
        for path, body in WIRES.values():
            await (await session.post(provider.url + path, json=body, headers={"x-api-key": path})).read()
        assert provider.paths == [path for path, _ in WIRES.values()]
        assert provider.requests == [body for _, body in WIRES.values()]
        assert provider.keys == provider.paths
        assert provider.connections == 1
    async with aiohttp.ClientSession() as another:
        with pytest.raises(aiohttp.ClientConnectorError):
            await another.post(provider.url)


async def test_it_listens_on_the_port_that_it_is_given() -> None:
    async with ScriptedProvider([say("Hello.")]) as provider:
        port = int(provider.url.rpartition(":")[2])
    async with ScriptedProvider([say("Hello.")], port=port) as again:
        assert again.base_url == provider.base_url


async def test_connections_are_counted() -> None:
    path, body = WIRES["chat"]
    async with ScriptedProvider(lambda body: say("Hi.")) as provider:
        for _ in range(3):
            async with aiohttp.ClientSession() as session, session.post(provider.url + path, json=body) as response:
                await response.read()
        assert provider.connections == 3


@every_wire
@pytest.mark.parametrize("streamed", [True, False])
async def test_a_stall_lasts_until_the_client_goes(wire: WireName, streamed: bool) -> None:
    path, body = WIRES[wire]
    async with ScriptedProvider([Stall("Half of")]) as provider:
        timeout = aiohttp.ClientTimeout(sock_read=0.1)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            with pytest.raises(aiohttp.ServerTimeoutError):
                await (await session.post(provider.url + path, json=body | {"stream": streamed})).read()
        with anyio.fail_after(30):
            while provider.active:
                await anyio.lowlevel.checkpoint()
        assert provider.dropped == 1


@every_wire
async def test_a_stall_that_ends_is_an_answer(wire: WireName) -> None:
    path, body = WIRES[wire]
    async with ScriptedProvider(lambda body: Stall("Late.", 0.01)) as stalling:
        late = await _read(stalling, path, body | {"stream": True})
    async with ScriptedProvider(lambda body: say("Late.")) as provider:
        swift = await _read(provider, path, body | {"stream": True})
    assert late.count(b"\n\n") == swift.count(b"\n\n")


async def _read(provider: ScriptedProvider, path: str, body: dict[str, Any]) -> bytes:
    async with aiohttp.ClientSession() as session, session.post(provider.url + path, json=body) as response:
        return await response.read()


@every_wire
async def test_a_cut(wire: WireName) -> None:
    path, body = WIRES[wire]
    async with ScriptedProvider(lambda body: Cut("Half of")) as provider:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await _read(provider, path, body)
        seen = b""
        with pytest.raises(aiohttp.ClientPayloadError):
            async with aiohttp.ClientSession() as session:
                async with session.post(provider.url + path, json=body | {"stream": True}) as response:
                    async for chunk in response.content.iter_any():
                        seen += chunk
        assert b"Half of" in seen
        assert (provider.active, provider.dropped) == (0, 0)


@every_wire
async def test_what_is_broken(wire: WireName) -> None:
    path, body = WIRES[wire]
    async with ScriptedProvider(lambda body: Broken("Half of")) as provider:
        with pytest.raises(msgspec.DecodeError):
            msgspec.json.decode(await _read(provider, path, body))
    async with ScriptedProvider(lambda body: Broken(html=True)) as provider:
        assert (await _read(provider, path, body)).startswith(b"<html>")
        assert (await _read(provider, path, body | {"stream": True})).startswith(b"<html>")


FAULTS: list[Callable[[WireName], Fault]] = [
    bad_key,
    content_policy,
    context_window,
    out_of_credit,
    overloaded,
    lambda wire: rate_limit(wire, 1.5),
]


@every_wire
@pytest.mark.parametrize("fault", FAULTS)
async def test_faults_in_the_words_of_each(wire: WireName, fault: Callable[[WireName], Fault]) -> None:
    path, body = WIRES[wire]
    expected = fault(wire)
    async with ScriptedProvider([expected]) as provider, aiohttp.ClientSession() as session:
        async with session.post(provider.url + path, json=body | {"stream": True}) as response:
            assert response.status == expected.status
            given = msgspec.json.decode(await response.read())
            assert response.headers.get("Retry-After") == expected.headers.get("Retry-After")
    assert given["error"]["message"] == expected.message
    assert ("code" in given["error"]) == (wire != "anthropic")


async def test_a_fault_in_the_middle_is_a_plain_one_for_those_who_do_not_stream() -> None:
    path, body = WIRES["anthropic"]
    async with ScriptedProvider([overloaded("anthropic", after="Half of")]) as provider:
        async with aiohttp.ClientSession() as session, session.post(provider.url + path, json=body) as response:
            assert response.status == 529


@pytest.mark.pure
def test_the_configurations_that_reach_it() -> None:
    provider = ScriptedProvider([])
    provider.url, provider.base_url = "http://host", "http://host/v1"
    assert (provider.llm().model, provider.llm().base_url) == ("openai/scripted", "http://host/v1")
    assert provider.responses_llm(timeout=3.0) == provider.llm(api="responses", timeout=3.0)
    assert provider.anthropic_llm().base_url == "http://host"
    assert provider.anthropic_llm(model="anthropic/claude-sonnet-4-5").model == "anthropic/claude-sonnet-4-5"
