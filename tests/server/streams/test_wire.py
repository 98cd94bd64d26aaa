"""What is written to a socket within a call: whole messages, in order with all others, while there is room."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import anyio
import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from wsproto.connection import Connection, ConnectionType
from wsproto.events import TextMessage

from agentrt.server import ServerSettings
from agentrt.server.running import serving
from agentrt.server.streams.wire import Wire, decline_compression, framed, lay_wire, wire_of
from tests.proofs.waiting import eventually


@asynccontextmanager
async def socket_to(
    talk: Callable[[WebSocket, Wire], Awaitable[None]],
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """The client's end of a socket on which a server talks."""

    async def endpoint(websocket: WebSocket) -> None:
        await websocket.accept()
        wire = wire_of(websocket.scope)
        assert wire is not None
        await talk(websocket, wire)

    settings = ServerSettings(port=0)
    async with (
        serving(Starlette(routes=[WebSocketRoute("/", endpoint)]), settings) as url,
        aiohttp.ClientSession() as session,
        session.ws_connect(url, max_msg_size=0) as socket,
    ):
        yield socket


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_a_message_is_framed_as_clients_read_it(length: int) -> None:
    client = Connection(ConnectionType.CLIENT)
    client.receive_data(framed("é" * length) + framed("next"))
    texts, whole = list[str](), ""
    for event in client.events():
        assert isinstance(event, TextMessage)
        whole += event.data
        if event.message_finished:
            texts.append(whole)
            whole = ""
    assert texts == ["é" * length, "next"]


async def test_what_is_written_at_once_is_in_order_with_what_is_sent() -> None:
    async def talk(websocket: WebSocket, wire: Wire) -> None:
        assert wire.free
        wire.write(framed("first"))
        await websocket.send_text("second")
        await eventually(lambda: wire.free, "it was taken")
        wire.write(framed("third"))
        await websocket.send_text("fourth")
        await websocket.close()

    async with socket_to(talk) as socket:
        assert [message.data async for message in socket] == ["first", "second", "third", "fourth"]


async def test_a_client_that_does_not_read_leaves_no_room() -> None:
    full, gone = anyio.Event(), anyio.Event()

    async def talk(websocket: WebSocket, wire: Wire) -> None:
        while wire.free:
            wire.write(framed("x" * 1_000_000))
            await anyio.lowlevel.checkpoint()
        full.set()
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass
        assert not wire.free
        gone.set()

    async with socket_to(talk) as socket:
        with anyio.fail_after(20):
            await full.wait()
        socket._response.close()  # as a client does that was killed
        with anyio.fail_after(20):
            await gone.wait()


async def test_one_that_is_closed_is_not_written_to() -> None:
    closed = anyio.Event()

    async def talk(websocket: WebSocket, wire: Wire) -> None:
        await websocket.close()
        assert not wire.free
        closed.set()

    async with socket_to(talk) as socket:
        assert [message async for message in socket] == []
        await closed.wait()


async def test_one_that_its_client_closes_is_not_written_to() -> None:
    left = anyio.Event()

    async def talk(websocket: WebSocket, wire: Wire) -> None:
        assert wire.free
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass
        assert not wire.free
        left.set()

    async with socket_to(talk) as socket:
        await socket.close()
        with anyio.fail_after(20):
            await left.wait()


def test_another_server_has_no_wire() -> None:
    async def send(message: object) -> None:
        raise AssertionError

    scope: dict[str, object] = {"type": "websocket"}
    decline_compression(send)
    lay_wire(scope, send)
    assert wire_of(scope) is None
