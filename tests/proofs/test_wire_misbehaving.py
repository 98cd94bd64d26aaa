"""Streams that stall, trickle, never end or are cut hold up nobody and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import AsyncIterator

import anyio
import pytest

from agentrt.errors import ModelError, ModelTimeout, ModelUnavailable
from agentrt.llm import WireClient
from agentrt.protocols import Watch
from tests.llm.calling import Shown, request
from tests.llm.replaying import Replay, Replayed, events
from tests.llm.test_wire_client import WIRES, saying

pytestmark = [pytest.mark.long, pytest.mark.timed]

TIMES = 100
MOMENT = 0.010
"""Seconds within which an interrupt has closed a stream, in the median."""


@pytest.fixture
async def client() -> AsyncIterator[WireClient]:
    """One that leaves no task and no socket behind."""
    made = WireClient({})
    await made.load()
    tasks, files = len(asyncio.all_tasks()), _files()
    yield made
    await made.aclose()
    with anyio.fail_after(20):
        while len(asyncio.all_tasks()) > tasks or _files() > files:
            await anyio.sleep(0.001)


def _files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def ended(provider: Replay) -> None:
    """The provider has seen that nobody reads its answers."""
    with anyio.fail_after(20):
        while provider.open:
            await anyio.sleep(0)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_stream_that_is_cut_at_any_byte_is_an_answer_or_an_error(client: WireClient, wire: str) -> None:
    stream = events(*saying(wire, "Yes 😀."))
    replies, errors = [], []
    async with Replay() as provider:
        for place in range(len(stream) + 1):
            provider.answer = Replayed((stream[:place],) if place else (), ending="cut")
            try:
                replies.append((await client.complete(request(provider.llm(wire)), Watch())).text)
            except ModelUnavailable as error:
                errors.append(str(error))
                replies.clear()
        await ended(provider)
        assert provider.asked == len(stream) + 1
    assert len(errors) + len(replies) == len(stream) + 1, "once it was whole, it stayed so"
    assert set(replies) == {"Yes 😀."}
    assert all("cut before its end" in error for error in errors)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("ending", ["stall", "trickle", "endless"])
async def test_an_interrupt_closes_a_stream_at_once(client: WireClient, wire: str, ending: str) -> None:
    begun = events(*saying(wire, "Half of an answer")[: 1 if wire != "anthropic" else 3])
    pieces = (begun, b": " + b"x" * 4000 + b"\n\n")
    took = []
    async with Replay(Replayed(pieces, ending=ending)) as provider:  # type: ignore[arg-type]
        for _ in range(TIMES):
            shown = Shown()
            with anyio.fail_after(20):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.complete, request(provider.llm(wire)), shown)
                    await shown.begun.wait()
                    since = time.perf_counter()
                    tasks.cancel_scope.cancel()
                await ended(provider)
            took.append(time.perf_counter() - since)
        assert provider.asked == TIMES
    print(f"{wire}, {ending}: {statistics.median(took) * 1000:.2f} ms, at most {max(took) * 1000:.2f} ms")
    assert statistics.median(took) < MOMENT


async def test_streams_without_end_hold_up_nobody(client: WireClient) -> None:
    """Thirty that stall, trickle and never end; meanwhile others are answered, and then these are closed."""
    half = events(*saying("chat", "Half")[:1])
    async with Replay(Replayed((events(*saying("chat", "Yes.")),))) as good, anyio.create_task_group() as tasks:
        bad = [Replay(Replayed((half, b": x\n\n"), ending=ending)) for ending in ("stall", "trickle", "endless")]
        for provider in bad:
            await provider.__aenter__()
        shown = [Shown() for _ in range(30)]
        for place, watch in enumerate(shown):
            tasks.start_soon(client.complete, request(bad[place % 3].llm()), watch)
        with anyio.fail_after(60):
            for watch in shown:
                await watch.begun.wait()
            for _ in range(50):
                assert (await client.complete(request(good.llm()), Watch())).text == "Yes."
        assert [provider.open for provider in bad] == [10, 10, 10]
        tasks.cancel_scope.cancel()
    for provider in bad:
        await ended(provider)
        await provider.__aexit__(None, None, None)


async def test_a_stream_that_stalls_is_given_up_in_time(client: WireClient) -> None:
    async with Replay(Replayed((events(*saying("chat", "Half")[:1]),), ending="stall")) as provider:
        with pytest.raises(ModelTimeout, match=r"within 0\.2 s"):
            await client.complete(request(provider.llm(timeout=0.2)), Watch())
        await ended(provider)


async def test_an_answer_that_never_ends_is_given_up(client: WireClient) -> None:
    for piece in (b": " + b"x" * (1 << 20) + b"\n\n", b"x" * (1 << 20), b'{"' + b"x" * (1 << 20)):
        async with Replay(Replayed((piece,), ending="endless")) as provider:
            with anyio.fail_after(60), pytest.raises(ModelError, match="has no end|more than 64 MiB"):
                await client.complete(request(provider.llm()), Watch())
            await ended(provider)
