"""Sockets of a server that gives nothing but ASGI: they are served by the same laws, only slower."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentrt.controls import SendMessage
from agentrt.events import Cursor
from agentrt.frames import Live
from agentrt.server.principals import EVERYONE
from agentrt.server.streams.encoding import OVERHEAD
from agentrt.server.streams.relay import RECENT, Relay
from agentrt.testing import ScriptedLLM, call, finish
from tests.proofs.waiting import eventually
from tests.server.served import served, serving_plainly

from .following import begun, following, is_live, log_of, settings

pytestmark = pytest.mark.real

LONG = 60_000
"""Bytes of a message."""


def kept_by(relay: Relay) -> int:
    """Bytes of the events that it keeps."""
    kept = (relay.recent(after, sys.maxsize) for after in range(relay.seq))
    return sum(piece.size for piece in next((pieces for pieces in kept if pieces is not None), ()))


async def test_every_event_arrives(tmp_path: Path) -> None:
    turns = ScriptedLLM(
        [*(call("think", "Hm", thought=f"step {step} " + "x" * 500) for step in range(50)), finish("✓")]
    )
    async with served(tmp_path, turns, serve=serving_plainly) as client:
        name = await begun(client)
        path = f"/conversations/{name}/events"
        async with following(client, path) as live, following(client, path, compress=15) as small:
            for socket in (live, small):
                await socket.until_of(Live)
            assert small.socket.compress, "nobody declined it"
            await live.do(name, SendMessage(content="Go", run=True))
            for socket in (live, small):
                while (await socket.until_event("ObservationEvent"))["tool_name"] != "finish":
                    pass
        async with following(client, path) as again:
            await again.until_of(Live)
    log = log_of(tmp_path, name)
    assert again.events[name] == log
    assert live.events[name] == small.events[name] == log[: len(small.events[name])]
    assert len(log) > 250


async def test_who_stops_reading_is_closed_and_makes_nothing_grow(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedLLM([]), settings(tmp_path, patience=1.0), serve=serving_plainly) as client:
        name = await begun(client)
        path = f"/conversations/{name}/events"
        async with following(client, path) as good, following(client, path) as slow:
            for socket in (good, slow):
                await socket.until(is_live)
            conversation = await client.services.hosting.get(name, EVERYONE)
            cursor = Cursor(conversation.state.epoch, conversation.state.seq)
            follower = await client.services.streams.follow(name, EVERYONE, cursor, lambda follower: None, deltas=False)
            for number in range(200):
                await conversation.send_message(f"{number} " + "x" * LONG)
                assert kept_by(follower.relay) <= RECENT + LONG + OVERHEAD
                while len(good.events[name]) < conversation.state.seq:
                    assert await good.more()
            client.services.streams.leave(follower)
            await eventually(lambda: client.services.streams.count == 1, "the slow one is closed", 20)
            assert (await slow.closed())[0] == 4008
            assert len(slow.events[name]) < len(good.events[name])
        assert good.events[name] == log_of(tmp_path, name)
        missed = len(slow.events[name])
        assert slow.events[name] == good.events[name][:missed]
        async with following(client, f"{path}?after={missed}") as again:
            await again.until(is_live)
        assert slow.events[name] + again.events[name] == good.events[name]
