"""A provider behind TLS that also speaks HTTP/2: each stream has a connection of its own, which an interrupt closes."""

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

STREAMS = 20


class Provider:
    """An application that answers as OpenAI does, and then waits for the client to go."""

    def __init__(self) -> None:
        self.versions = set[str]()
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
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        self.open += 1
        try:
            await self._say(send, {"content": "Hello"}, None)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._gone, receive, tasks.cancel_scope)
                await self.over.wait()
                await self._say(send, {"content": " there."}, "stop")
                await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
                tasks.cancel_scope.cancel()
        finally:
            self.open -= 1

    async def _say(self, send: Any, delta: Any, reason: str | None) -> None:
        chunk = {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        await send({"type": "http.response.body", "body": events(chunk), "more_body": True})

    async def _gone(self, receive: Any, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()


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


async def test_an_interrupt_ends_one_stream_at_the_provider_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    provider, client, said = Provider(), WireClient({}), list[str]()
    async with secure(provider, tmp_path) as address:
        model = LLM(model="openai/any", base_url=address, timeout=20.0)

        async def ask(scope: anyio.CancelScope) -> None:
            with scope:
                said.append((await client.complete(request(model), Watch())).text)

        scopes = [anyio.CancelScope() for _ in range(STREAMS)]
        async with anyio.create_task_group() as tasks:
            for scope in scopes:
                tasks.start_soon(ask, scope)
            await eventually(lambda: provider.open == STREAMS, "all stream", 20)
            for scope in scopes[::2]:
                scope.cancel()
            await eventually(lambda: provider.open == STREAMS // 2, "half of them are closed", 20)
            provider.over.set()
        await client.aclose()
    assert said == ["Hello there."] * (STREAMS // 2)
    assert provider.versions == {"1.1"}


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    client = WireClient({})
    async with secure(Provider(), tmp_path) as address:
        with pytest.raises(ModelUnavailable, match="(?i)certificate"):
            await client.complete(request(LLM(model="openai/any", base_url=address, num_retries=0)), Watch())
        await client.aclose()
