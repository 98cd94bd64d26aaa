"""What is written to a socket of Hypercorn within a call: whole messages, in order, while there is room."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import anyio
import pytest
from hypercorn.protocol.ws_stream import ASGIWebsocketState, WSStream
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from agentrt.server import ServerSettings
from agentrt.server.hypercorn_sockets import adapt
from agentrt.server.running import serving
from agentrt.server.streams.wire import Wire, framed, wire_of
from tests.proofs.waiting import eventually

pytestmark = pytest.mark.real


@asynccontextmanager
async def socket_to(
    talk: Callable[[WebSocket, Wire], Awaitable[None]], connector: aiohttp.TCPConnector | None = None
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
        aiohttp.ClientSession(connector=connector) as session,
        session.ws_connect(url, max_msg_size=0) as socket,
    ):
        yield socket


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

    connector = aiohttp.TCPConnector()
    async with socket_to(talk, connector):
        with anyio.fail_after(20):
            await full.wait()
        await connector.close()  # as a client does that was killed
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


@pytest.mark.simulated
async def test_where_nothing_is_as_expected_a_socket_is_left_as_it_is() -> None:
    class Elsewhere(WSStream):
        """A stream of another version: what is looked for is not where it is."""

        def __init__(self) -> None:
            self.state = ASGIWebsocketState.CONNECTED

        async def app_send(self, message: object) -> None:
            raise AssertionError

    class Renamed(Elsewhere):
        async def send(self, message: object) -> None:
            raise AssertionError

    async def send(message: object) -> None:
        raise AssertionError

    for found in (send, Elsewhere().app_send, Renamed().app_send):
        scope: dict[str, object] = {"type": "websocket"}
        adapt(scope, found)
        assert wire_of(scope) is None
