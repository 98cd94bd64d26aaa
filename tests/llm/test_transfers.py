"""Requests by libcurl, against servers on the loopback that say what they are told."""

from __future__ import annotations

import asyncio
import os
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import anyio.streams.buffered
import psutil
import pytest

from agentrt.llm.transfers import AGAIN, DEAD, TransferError, Transfers

pytestmark = pytest.mark.real

HEAD = b"HTTP/1.1 200 OK\r\n"
Serve = Callable[[bytes, anyio.abc.SocketStream], Awaitable[None]]


class Seen:
    """Keeps what it receives; `rest` is what each of its methods returns."""

    def __init__(self, rest: float | None = None) -> None:
        self.rest = rest
        self.begun: list[tuple[int, str, dict[str, str]]] = []
        self.pieces: list[bytes] = []
        self.arrived = anyio.Event()

    def begin(self, status: int, reason: str, headers: Mapping[str, str]) -> float | None:
        self.begun.append((status, reason, dict(headers)))
        return None

    def take(self, piece: bytes) -> float | None:
        self.pieces.append(piece)
        self.arrived.set()
        return self.rest


class Broken(Seen):
    """Cannot take anything."""

    def take(self, piece: bytes) -> float | None:
        raise ValueError("too much")


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[str]:
    """The address of one that answers each request of a connection by `serve`, which is given its head."""

    async def connected(stream: anyio.abc.SocketStream) -> None:
        buffered = anyio.streams.buffered.BufferedByteReceiveStream(stream)
        async with stream:
            try:
                while True:
                    head = await buffered.receive_until(b"\r\n\r\n", 65536)
                    await buffered.receive_exactly(len(BODY))
                    await serve(head, stream)
            except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, connected)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/v1/chat"
        tasks.cancel_scope.cancel()


def saying(answer: bytes) -> Serve:
    """Answers with these bytes."""

    async def serve(head: bytes, stream: anyio.abc.SocketStream) -> None:
        await stream.send(answer)

    return serve


BODY = b'{"ask":1}'


@pytest.fixture
async def transfers() -> AsyncIterator[Transfers]:
    made = Transfers()
    yield made
    await made.aclose()


async def posted(
    transfers: Transfers, url: str, seen: Seen | None = None, headers: Mapping[str, str] | None = None
) -> Seen:
    """What was received."""
    seen = seen or Seen()
    with anyio.fail_after(20):
        await transfers.post(url, headers or {}, BODY, seen)
    return seen


async def test_an_answer_is_its_status_its_headers_and_its_body(transfers: Transfers) -> None:
    answer = b"HTTP/1.1 404 Not Here\r\nContent-Length: 2\r\nX-One: a\r\nx-one: b\r\n\r\nhi"
    async with server(saying(answer)) as url:
        seen = await posted(transfers, url)
    assert seen.begun == [(404, "Not Here", {"content-length": "2", "x-one": "a, b"})]
    assert b"".join(seen.pieces) == b"hi"


async def test_interim_answers_and_trailers_are_left_out(transfers: Transfers) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    body = b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Late: 1\r\n\r\n"
    async with server(saying(early + HEAD + body)) as url:
        seen = await posted(transfers, url)
    assert seen.begun == [(200, "OK", {"transfer-encoding": "chunked"})]


async def test_a_compressed_body_is_expanded(transfers: Transfers) -> None:
    body = zlib.compress(b"word " * 1000)
    head = HEAD + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with server(saying(head + body)) as url:
        assert b"".join((await posted(transfers, url)).pieces) == b"word " * 1000


async def test_a_request_has_the_headers_given_and_no_other_type(transfers: Transfers) -> None:
    heads = list[bytes]()

    async def serve(head: bytes, stream: anyio.abc.SocketStream) -> None:
        heads.append(head)
        await stream.send(HEAD + b"Content-Length: 0\r\n\r\n")

    async with server(serve) as url:
        given = {"content-type": "application/json", "x-empty": "", "authorization": "Bearer k"}
        await posted(transfers, url, headers=given)
        await posted(transfers, url.replace("//", "//ada:secret@"), headers={"authorization": "Bearer none"})
    lines = heads[0].split(b"\r\n")
    assert lines[0] == b"POST /v1/chat HTTP/1.1"
    assert {b"content-type: application/json", b"x-empty:", b"authorization: Bearer k"} <= set(lines)
    assert b"Expect" not in heads[0]
    assert b"User-Agent: agentrt\r\n" in heads[0]
    assert b"Authorization: Basic YWRhOnNlY3JldA==" in heads[1], "the user of an address counts before a key"
    assert b"Bearer" not in heads[1]


async def test_what_a_receiver_raises_ends_the_request(transfers: Transfers) -> None:
    async with server(saying(HEAD + b"Content-Length: 100\r\n\r\nhi")) as url:
        with pytest.raises(ValueError, match="too much"):
            await posted(transfers, url, Broken())


async def test_a_rest_that_is_not_waited_for_ends_the_request(transfers: Transfers) -> None:
    async with server(saying(HEAD + b"Content-Length: 100\r\n\r\nhi")) as url:
        assert (await posted(transfers, url, Seen(rest=0.0))).pieces == [b"hi"]


@pytest.mark.parametrize("answer", [HEAD + b"Content-Length: 100\r\n\r\nhi", HEAD, b"", b"SSH-2.0-nothing\r\n"])
async def test_an_answer_that_is_not_whole_is_an_error(transfers: Transfers, answer: bytes) -> None:
    async def serve(head: bytes, stream: anyio.abc.SocketStream) -> None:
        if answer:
            await stream.send(answer)
        await stream.aclose()

    async with server(serve) as url:
        with pytest.raises(TransferError):
            await posted(transfers, url)


async def test_a_connection_is_used_again_even_if_the_server_has_closed_it(transfers: Transfers) -> None:
    answers = 0

    async def serve(head: bytes, stream: anyio.abc.SocketStream) -> None:
        nonlocal answers
        answers += 1
        await stream.send(HEAD + b"Content-Length: 0\r\n\r\n")
        if answers == 2:
            await stream.aclose()

    async with server(serve) as url:
        for _ in range(4):
            await posted(transfers, url)
    assert answers == 4


async def test_a_request_that_the_server_may_have_worked_on_is_sent_once(transfers: Transfers) -> None:
    heads = list[bytes]()

    async def serve(head: bytes, stream: anyio.abc.SocketStream) -> None:
        heads.append(head)
        if b"x-costly" in head:
            await anyio.sleep(2 * AGAIN)
            await stream.aclose()
        else:
            await stream.send(HEAD + b"Content-Length: 0\r\n\r\n")

    async with server(serve) as url:
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(posted, transfers, url)
        with pytest.raises(TransferError, match="closed without an answer"):
            await posted(transfers, url, headers={"x-costly": "1"})
    assert sum(b"x-costly" in head for head in heads) == 1


async def test_a_bomb_is_not_unpacked_beyond_what_is_wanted(transfers: Transfers) -> None:
    packer = zlib.compressobj()
    body = b"".join(packer.compress(b"x" * 1_000_000) for _ in range(200)) + packer.flush()
    head = HEAD + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with server(saying(head + body)) as url:
        assert len((await posted(transfers, url, Seen(rest=0.0))).pieces) == 1


@pytest.mark.parametrize("answer", [b"\r\nHTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n\r\nhello"])
async def test_an_answer_that_is_none_is_an_error(transfers: Transfers, answer: bytes) -> None:
    async with server(saying(answer)) as url:
        with pytest.raises(TransferError):
            await posted(transfers, url)


@pytest.mark.simulated
async def test_characters_that_cannot_be_sent_are_told(transfers: Transfers) -> None:
    with pytest.raises(TransferError, match="has characters that HTTP cannot have"):
        await posted(transfers, "http://127.0.0.1:9/", headers={"x": "\ud800"})


async def test_a_request_goes_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = list[bytes]()

    async def serve(head: bytes, stream: anyio.abc.SocketStream) -> None:
        heads.append(head)
        await stream.send(HEAD + b"Content-Length: 0\r\n\r\n")

    async with server(serve) as url:
        monkeypatch.setenv("http_proxy", url.replace("/v1/chat", "").replace("//", "//ada:secret@"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        transfers = Transfers()
        await posted(transfers, "http://models.invalid/v1/chat")
        await transfers.aclose()
    assert heads[0].startswith(b"POST http://models.invalid/v1/chat HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic YWRhOnNlY3JldA==" in heads[0]


async def test_a_request_goes_through_a_proxy_that_speaks_socks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[bytes]()

    async def connected(stream: anyio.abc.SocketStream) -> None:
        """SOCKS 5 with a password (RFC 1928, RFC 1929), and then the answer of any server."""
        buffered = anyio.streams.buffered.BufferedByteReceiveStream(stream)
        async with stream:
            await buffered.receive_exactly(1)
            await buffered.receive_exactly((await buffered.receive_exactly(1))[0])
            await stream.send(b"\x05\x02")
            asked.append(await buffered.receive_exactly(len(b"\x01\x03ada\x06secret")))
            await stream.send(b"\x01\x00")
            asked.append(await buffered.receive_exactly(len(b"\x05\x01\x00\x03\x0emodels.invalid\x00\x50")))
            await stream.send(b"\x05\x00\x00\x01" + bytes(6))
            asked.append(await buffered.receive_until(b"\r\n\r\n", 65536))
            await stream.send(HEAD + b"Content-Length: 0\r\n\r\n")
            await buffered.receive_exactly(len(BODY))

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, connected)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        monkeypatch.setenv("http_proxy", f"socks5h://ada:secret@127.0.0.1:{port}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        transfers = Transfers()
        seen = await posted(transfers, "http://models.invalid/v1/chat")
        await transfers.aclose()
        tasks.cancel_scope.cancel()
    assert seen.begun[0][0] == 200
    assert asked[:2] == [b"\x01\x03ada\x06secret", b"\x05\x01\x00\x03\x0emodels.invalid\x00\x50"]
    assert asked[2].startswith(b"POST /v1/chat HTTP/1.1\r\nHost: models.invalid\r\n")


async def test_closing_ends_what_is_under_way_and_refuses_the_next() -> None:
    transfers, seen = Transfers(), Seen()
    async with server(saying(HEAD + b"Content-Length: 100\r\n\r\nhi")) as url:
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                with pytest.raises(TransferError, match="was closed"):
                    await posted(transfers, url, seen)

            tasks.start_soon(ask)
            await seen.arrived.wait()
            await transfers.aclose()
        await transfers.aclose()
        with pytest.raises(TransferError, match="is closed"):
            await posted(transfers, url)


async def test_the_system_finds_out_that_the_other_end_is_gone(transfers: Transfers) -> None:
    options = list[tuple[int, int]]()

    async def serve(head: bytes, stream: anyio.abc.SocketStream) -> None:
        port = stream.extra(anyio.abc.SocketAttribute.remote_port)
        (file,) = [one.fd for one in psutil.Process().net_connections("tcp") if one.laddr and one.laddr.port == port]
        with socket.socket(fileno=os.dup(file)) as made:
            alive = made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            options.append((alive, made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)))
        await stream.send(HEAD + b"Content-Length: 0\r\n\r\n")

    async with server(serve) as url:
        await posted(transfers, url)
    assert options == [(1, DEAD * 1000)]


@pytest.mark.simulated
def test_a_request_that_outlives_its_loop_is_forgotten() -> None:
    kept = list[object]()

    async def made() -> Transfers:
        transfers = Transfers()
        kept.append(request := transfers.post("http://127.0.0.1:9/", {}, BODY, Seen()))
        request.send(None)
        return transfers

    old = asyncio.run(made())
    asyncio.run(old.aclose())
    kept.clear()


def test_a_pool_whose_loop_is_closed_can_be_closed_in_another() -> None:
    async def made() -> Transfers:
        transfers = Transfers()
        async with server(saying(HEAD + b"Content-Length: 0\r\n\r\n")) as url:
            await posted(transfers, url)
        assert not transfers.stale
        return transfers

    old = asyncio.run(made())
    assert old.stale
    asyncio.run(old.aclose())
