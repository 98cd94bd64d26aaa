"""A provider that speaks HTTP/2 over TLS, as most do: many streams go through one connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from hypercorn.asyncio import serve
from hypercorn.config import Config

from agentrt.errors import ModelUnavailable
from agentrt.llm import WireClient
from agentrt.protocols import Watch
from agentrt.specs import LLM
from tests.certificates import self_signed
from tests.mcp.serving import free_port, listens
from tests.proofs.waiting import eventually

from .calling import request
from .replaying import events

STREAMS = 50


class Provider:
    """An application that answers as OpenAI does, once all of its streams have begun."""

    def __init__(self) -> None:
        self.versions = set[str]()
        self.clients = set[Any]()
        self._begun = 0
        self._all = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for kind in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{kind}.complete"})
            return
        self.versions.add(scope["http_version"])
        self.clients.add(tuple(scope["client"]))
        while (await receive()).get("more_body"):
            pass
        self._begun += 1
        if self._begun == STREAMS:
            self._all.set()
        await self._all.wait()
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for delta, reason in (({"content": "Hello"}, None), ({"content": " there."}, None), ({}, "stop")):
            chunk = {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            await send({"type": "http.response.body", "body": events(chunk), "more_body": True})
            await anyio.lowlevel.checkpoint()
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


@asynccontextmanager
async def secure(provider: Provider, place: Path) -> AsyncIterator[str]:
    """The address of a provider behind TLS."""
    port, config, over = free_port(), Config(), asyncio.Event()
    certificate, key = self_signed(place)
    config.bind, config.errorlog = [f"127.0.0.1:{port}"], None
    config.certfile, config.keyfile, config.graceful_timeout = str(certificate), str(key), 0.1
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: serve(provider, config, shutdown_trigger=over.wait))
        await eventually(lambda: listens(port), "it listens", 30)
        yield f"https://127.0.0.1:{port}/v1"
        over.set()


async def test_streams_share_one_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    provider, client = Provider(), WireClient({})
    said = list[str]()
    async with secure(provider, tmp_path) as address:
        model = LLM(model="openai/any", base_url=address, timeout=20.0)

        async def ask() -> None:
            said.append((await client.complete(request(model), Watch())).text)

        async with anyio.create_task_group() as tasks:
            for _ in range(STREAMS):
                tasks.start_soon(ask)
        await client.aclose()
    assert said == ["Hello there."] * STREAMS
    assert provider.versions == {"2"}
    assert len(provider.clients) == 1


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    client = WireClient({})
    async with secure(Provider(), tmp_path) as address:
        with pytest.raises(ModelUnavailable, match="(?i)certificate"):
            await client.complete(request(LLM(model="openai/any", base_url=address, num_retries=0)), Watch())
        await client.aclose()
