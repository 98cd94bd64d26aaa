"""What a connection speaks: HTTP/1.1 alone, and nothing whose length is said in two ways."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypercorn.config import Config
from starlette.types import Receive, Scope, Send

from agentrt.server import ServerSettings
from agentrt.server.connections import serve_connections
from agentrt.testing import ScriptedLLM

from .served import Client, served

pytestmark = pytest.mark.real

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


def said(client: Client, data: bytes) -> bytes:
    """All that the server says to these bytes until it closes, or 2 s have gone by."""
    host, port = client.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=2) as connection:
        whole = data.replace(b"HOST", f"{host}:{port}".encode())
        sending = threading.Thread(target=send, args=(connection, whole))  # much data is read while it is answered
        sending.start()
        heard = b""
        try:
            while piece := connection.recv(65536):
                heard += piece
        except TimeoutError:
            heard += b"<open>"
        sending.join(2)
    return heard


def send(connection: socket.socket, data: bytes) -> None:
    """Send until the server closes the connection."""
    with suppress(OSError):
        connection.sendall(data)


async def heard(client: Client, data: bytes) -> bytes:
    with anyio.fail_after(10):
        return await anyio.to_thread.run_sync(said, client, data)


async def test_http_2_is_not_taken_by_upgrade_nor_by_prior_knowledge(tmp_path: Path) -> None:
    upgrade = (
        b"GET /alive HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"
    )
    async with served(tmp_path, ScriptedLLM([])) as client:
        answer = await heard(client, upgrade)
        assert answer.startswith(b"HTTP/1.1 200 "), answer[:200]
        assert b"101" not in answer.split(b"\r\n")[0]
        answer = await heard(client, PREFACE)
        assert answer.startswith(b"HTTP/1.1 505 "), answer[:200]
        assert not answer.endswith(b"<open>")


async def test_http_2_is_taken_where_it_is_configured(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), http2=True)
    async with served(tmp_path, ScriptedLLM([]), settings) as client:
        answer = await heard(client, PREFACE)
        assert answer[3:4] == b"\4", "a SETTINGS frame (RFC 9113, 6.5)"


@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize(
    "names", [(b"Content-Length", b"Transfer-Encoding"), (b"transfer-encoding", b"CONTENT-LENGTH")]
)
async def test_a_length_that_is_said_in_two_ways_is_refused_and_the_connection_closed(
    tmp_path: Path, names: tuple[bytes, bytes], http2: bool
) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), http2=http2)
    values = {b"content-length": b"5", b"transfer-encoding": b"chunked"}
    headers = b"".join(b"%s: %s\r\n" % (name, values[name.lower()]) for name in names)
    smuggled = b"GET /alive HTTP/1.1\r\nHost: HOST\r\n\r\n"
    async with served(tmp_path, ScriptedLLM([]), settings) as client:
        request = b"POST /conversations HTTP/1.1\r\nHost: HOST\r\n" + headers + b"\r\n0\r\n\r\n"
        answer = await heard(client, request + smuggled)
        assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
        assert answer.count(b"HTTP/1.1 ") == 1, "what follows is not read as a request"
        assert not answer.endswith(b"<open>")
        assert (await client.ask("GET", "/alive"))[0] == 200


async def test_a_client_that_the_kernel_gives_up_has_gone(caplog: pytest.LogCaptureFixture) -> None:
    """It reads nothing: what is sent to it, and closing its connection, fails with a timeout of the system."""
    told, stop = list[str](), asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        async def pour() -> None:
            while True:
                await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
                await anyio.lowlevel.checkpoint()

        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pour)
            told.append((await receive())["type"])
            tasks.cancel_scope.cancel()
        stop.set()

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 100)
    config = Config()
    config.graceful_timeout = 20.0
    with anyio.fail_after(30), socket.create_connection(listener.getsockname()) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await serve_connections(endless, listener, config, stop)
    assert told == ["http.disconnect"]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def frame(opcode: int, data: bytes, *, last: bool = True) -> bytes:
    """A client's frame (RFC 6455, 5.2), masked with zeros."""
    return bytes([opcode | (0x80 if last else 0), 0x80 | len(data), 0, 0, 0, 0]) + data


FLOODS = {
    "fragments": frame(1, b"[", last=False) + frame(0, b" ", last=False) * 100_000 + frame(0, b"]"),
    "pings": frame(9, b"") * 30_000,
    "messages": frame(1, b"[]") * 5_000,
}


def flood(client: Client, data: bytes, ticket: str) -> bytes:
    """Send this on a new socket, and return the beginning of the answer to its last part."""
    host, port = client.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        request = (
            f"GET /events?ticket={ticket} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        connection.sendall(request.encode())
        heard = connection.recv(65536)
        assert b" 101 " in heard, heard
        sending = threading.Thread(target=connection.sendall, args=(data + frame(8, b"\x03\xe8"),))
        sending.start()
        try:
            while piece := connection.recv(65536):
                heard = heard[-64:] + piece
                if b"\x88" in piece[-8:] or b"\x88" in piece[:4]:
                    break
        finally:
            sending.join(20)
    return heard


@asynccontextmanager
async def others_have_their_turn(most: float = 0.5) -> AsyncIterator[None]:
    """Fail if nothing else ran for `most` seconds while the body ran."""
    longest, last = 0.0, anyio.current_time()

    async def measure() -> None:
        nonlocal longest, last
        while True:
            await anyio.lowlevel.checkpoint()
            now = anyio.current_time()
            longest, last = max(longest, now - last), now

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(measure)
        yield
        tasks.cancel_scope.cancel()
    assert longest < most, "seconds for which nothing else ran"


@pytest.mark.long
async def test_a_body_in_tiny_pieces_leaves_others_their_turn(tmp_path: Path) -> None:
    """Also one that is only read to be discarded, since nobody knows its client."""
    request = b"POST /conversations HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with served(tmp_path, ScriptedLLM([])) as client, others_have_their_turn(0.15):
        answer = await heard(client, request + b"1\r\n \r\n" * 100_000 + b"0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 401 "), answer[:200]


@pytest.mark.parametrize("kind", FLOODS)
async def test_a_flood_on_one_socket_leaves_others_their_turn(tmp_path: Path, kind: str) -> None:
    async with served(tmp_path, ScriptedLLM([])) as client:
        _, made = await client.ask("POST", "/tickets")
        async with others_have_their_turn():
            answer = await anyio.to_thread.run_sync(flood, client, FLOODS[kind], made["ticket"])
        assert (b"\x03\xf1" in answer) == (kind == "fragments"), "1009: a message in too many fragments"


async def test_a_connection_without_a_request_is_closed_after_the_time_that_is_set(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), keep_alive=0.1)
    async with served(tmp_path, ScriptedLLM([]), settings) as client:
        answer = await heard(client, b"GET /alive HTTP/1.1\r\nHost: HOST\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert not answer.endswith(b"<open>")


async def test_the_queue_of_connections_is_as_long_as_it_is_set(tmp_path: Path) -> None:
    """The kernel says it of a socket that listens, as `tcpi_sacked` (tcp_info of linux/tcp.h)."""
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), backlog=7)
    async with served(tmp_path, ScriptedLLM([]), settings) as client:
        listening = set[tuple[int, int]]()
        for descriptor in Path("/proc/self/fd").iterdir():
            if not descriptor.is_socket():
                continue
            with suppress(OSError), socket.socket(fileno=os.dup(int(descriptor.name))) as found:
                if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    told = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)
                    listening.add((found.getsockname()[1], struct.unpack_from("I", told, 28)[0]))
        assert (int(client.url.rpartition(":")[2]), 7) in listening
