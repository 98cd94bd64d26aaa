"""A provider behind TLS, by HTTP/2 and by HTTP/1.1: many streams at once, of which an interrupt ends one."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from anyio.streams.tls import TLSListener
from hpack import Encoder
from hypercorn.asyncio import serve
from hypercorn.config import Config
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, SettingsFrame

from agentrt.errors import ModelUnavailable
from agentrt.llm import WireClient
from agentrt.network import Guard
from agentrt.network.egress import egress
from agentrt.protocols import Watch
from agentrt.specs import LLM
from tests.certificates import self_signed
from tests.mcp.serving import free_port, listens
from tests.proofs.waiting import eventually

from .calling import Shown, request
from .replaying import events

pytestmark = pytest.mark.real

STREAMS = 120
MOST_ON_ONE = 100
"""Streams that a connection of HTTP/2 carries at a time, as most servers have it."""

HTTP2 = ["h2", "http/1.1"]
HTTP1 = ["http/1.1"]


def chunk(delta: Any, reason: str | None = None) -> bytes:
    """An event of OpenAI's stream."""
    return events({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


class Provider:
    """An application that answers as OpenAI does, and then waits for the client to go.

    `floods` is whether it says something without end until then.
    """

    def __init__(self, floods: bool = False) -> None:
        self.floods = floods
        self.versions = set[str]()
        self.clients = set[Any]()
        self.open = 0
        self.over = asyncio.Event()
        """Set when all may end."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for kind in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{kind}.complete"})
            return
        self.versions.add(scope["http_version"])
        self.clients.add(scope["client"])
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        self.open += 1
        try:
            await self._say(send, chunk({"content": "Hello"}))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._gone, receive, tasks.cancel_scope)
                while self.floods and not self.over.is_set():
                    await self._say(send, b": " + b"x" * 8000 + b"\n\n")
                    await anyio.lowlevel.checkpoint()
                await self.over.wait()
                await self._say(send, chunk({"content": " there."}, "stop"))
                await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
                tasks.cancel_scope.cancel()
        finally:
            self.open -= 1

    async def _say(self, send: Any, body: bytes) -> None:
        await send({"type": "http.response.body", "body": body, "more_body": True})

    async def _gone(self, receive: Any, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()


@asynccontextmanager
async def secure(
    provider: Provider, place: Path, speaks: list[str] = HTTP2, trusted: bool = True
) -> AsyncIterator[tuple[str, WireClient]]:
    """The address of a provider behind TLS, and a client, which trusts it if `SSL_CERT_FILE` is to name it."""
    port, config, over = free_port(), Config(), asyncio.Event()
    certificate, key = self_signed(place)
    config.bind, config.errorlog = [f"127.0.0.1:{port}"], None
    config.certfile, config.keyfile, config.graceful_timeout = str(certificate), str(key), 0.1
    config.alpn_protocols, config.h2_max_concurrent_streams = speaks, MOST_ON_ONE
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: serve(provider, config, shutdown_trigger=over.wait))
        await eventually(lambda: listens(port), "it listens", 30)
        with pytest.MonkeyPatch.context() as patch:
            if trusted:
                patch.setenv("SSL_CERT_FILE", str(certificate))
            client = WireClient({})
            yield f"https://127.0.0.1:{port}/v1", client
            await client.aclose()
        over.set()


def model(address: str) -> LLM:
    return LLM(model="openai/any", base_url=address, timeout=20.0, num_retries=0)


async def answered(client: WireClient, provider: Provider, address: str) -> None:
    """A first call, after which it is known what the provider speaks."""
    provider.over.set()
    assert (await client.complete(request(model(address)), Watch())).text == "Hello there."
    provider.over.clear()


@pytest.mark.parametrize(("speaks", "version"), [(HTTP2, "2"), (HTTP1, "1.1")])
async def test_an_interrupt_ends_one_stream_at_the_provider_and_no_other(
    tmp_path: Path, speaks: list[str], version: str
) -> None:
    provider, said = Provider(), list[str]()
    async with secure(provider, tmp_path, speaks) as (address, client):
        await answered(client, provider, address)

        async def ask(scope: anyio.CancelScope) -> None:
            with scope:
                said.append((await client.complete(request(model(address)), Watch())).text)

        scopes = [anyio.CancelScope() for _ in range(STREAMS)]
        async with anyio.create_task_group() as tasks:
            for scope in scopes:
                tasks.start_soon(ask, scope)
            await eventually(lambda: provider.open == STREAMS, "all stream", 20)
            for scope in scopes[::2]:
                scope.cancel()
            await eventually(lambda: provider.open == STREAMS // 2, "half of them are closed", 20)
            provider.over.set()
    assert said == ["Hello there."] * (STREAMS // 2)
    assert provider.versions == {version}
    assert len(provider.clients) == (-(-STREAMS // MOST_ON_ONE) if version == "2" else STREAMS)


async def test_what_interrupted_streams_had_still_to_say_holds_up_no_other(tmp_path: Path) -> None:
    """They share a connection, and how much it may carry unread."""
    provider = Provider(floods=True)
    async with secure(provider, tmp_path) as (address, client):
        await answered(client, provider, address)
        for _ in range(30):
            shown = Shown()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.complete, request(model(address)), shown)
                await shown.begun.wait()
                tasks.cancel_scope.cancel()
            await eventually(lambda: provider.open == 0, "it is closed", 20)
        await answered(client, provider, address)
    assert len(provider.clients) == 1


async def test_through_a_proxy_the_answer_is_that_of_the_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider()
    async with secure(provider, tmp_path) as (address, client), egress(Guard([address[8:-3]])) as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for _ in range(2):
            await answered(client, provider, address)
    assert provider.versions == {"2"}
    assert len(provider.clients) == 1


async def test_a_connection_that_the_provider_retires_carries_its_streams_to_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retired, rest, connections = anyio.Event(), anyio.Event(), 0

    async def connected(stream: anyio.abc.ByteStream) -> None:
        """Answers one request, and takes no other in the middle of it."""
        nonlocal connections
        connections += 1
        async with stream:
            await stream.send(SettingsFrame(0).serialize())
            await stream.send(SettingsFrame(0, flags=["ACK"]).serialize())
            await asked(stream)
            head = Encoder().encode([(":status", "200"), ("content-type", "text/event-stream")])
            await stream.send(HeadersFrame(1, head, flags=["END_HEADERS"]).serialize())
            await stream.send(DataFrame(1, chunk({"content": "Hello"})).serialize())
            await stream.send(GoAwayFrame(0, last_stream_id=1).serialize())
            retired.set()
            await rest.wait()
            end = chunk({"content": " there."}, "stop") + b"data: [DONE]\n\n"
            await stream.send(DataFrame(1, end, flags=["END_STREAM"]).serialize())

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*self_signed(tmp_path))
    context.set_alpn_protocols(["h2"])
    plain = await anyio.create_tcp_listener(local_host="127.0.0.1")
    listener = TLSListener(plain, context, standard_compatible=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    client, said = WireClient({}), list[str]()
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, connected)
        address = f"https://127.0.0.1:{plain.extra(anyio.abc.SocketAttribute.local_port)}/v1"

        async def ask(watch: Watch) -> None:
            said.append((await client.complete(request(model(address)), watch)).text)

        async with anyio.create_task_group() as calls:
            shown = Shown()
            calls.start_soon(ask, shown)
            await shown.begun.wait()
            await retired.wait()
            calls.start_soon(ask, Watch())
            await eventually(lambda: connections == 2, "the next call has a connection of its own", 20)
            rest.set()
        await client.aclose()
        tasks.cancel_scope.cancel()
    assert said == ["Hello there."] * 2


async def asked(stream: anyio.abc.ByteStream) -> None:
    """Return when the client has sent its request."""
    received = bytearray()
    while True:
        received += await stream.receive()
        data = bytes(received).partition(b"SM\r\n\r\n")[2]
        while len(data) >= 9:
            frame, length = Frame.parse_frame_header(memoryview(data[:9]))
            if len(data) < 9 + length:
                break
            if frame.stream_id == 1 and "END_STREAM" in frame.flags:
                return
            data = data[9 + length :]


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    async with secure(Provider(), tmp_path, trusted=False) as (address, client):
        with pytest.raises(ModelUnavailable, match="(?i)certificate"):
            await client.complete(request(model(address)), Watch())


async def test_a_folder_of_certificates_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "trusted"))
    provider = Provider()
    async with secure(provider, tmp_path, trusted=False) as (address, client):
        with pytest.raises(ModelUnavailable, match="(?i)certificate"):
            await client.complete(request(model(address)), Watch())
        (tmp_path / "trusted").mkdir()
        hashed = await anyio.run_process(["openssl", "x509", "-hash", "-noout", "-in", str(tmp_path / "certificate")])
        (tmp_path / "trusted" / f"{hashed.stdout.decode().strip()}.0").symlink_to(tmp_path / "certificate")
        await answered(client, provider, address)
