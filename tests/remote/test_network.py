"""A remote conversation over a network that fails and a server that dies: every event once, and in order."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from msgspec.structs import replace

from agentrt import LLM, Agent, Conversation, Delta, Event, ExecutionStatus, RemoteWorkspace, Tool, tool
from agentrt.errors import ServerUnreachable
from agentrt.events import MessageEvent, ObservationEvent, RunEnded, RunRequested
from agentrt.specs.content import plain
from agentrt.storage import read_conversation
from agentrt.testing import ScriptedLLM

from . import program
from .places import TOKEN, everything, remote
from .proxy import Proxy, proxied

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=(Tool("count"),))
DONE = ExecutionStatus.FINISHED


@tool
async def count(n: int) -> str:
    """Count."""
    await anyio.lowlevel.checkpoint()
    return f"{n}"


@asynccontextmanager
async def over_a_proxy(directory: Path) -> AsyncIterator[tuple[Proxy, RemoteWorkspace]]:
    async with remote(directory, ScriptedLLM(program.counting), tools=[count]) as place:
        async with proxied(place.place.url) as proxy:  # type: ignore[attr-defined]
            yield proxy, RemoteWorkspace(proxy.url, path="workspace", timeout=0.5, give_up=20.0, api_key=TOKEN)


def logged(directory: Path, conversation: Conversation) -> list[Event]:
    """What stands in the server's log."""
    return read_conversation(directory / "store/conversations" / conversation.id)


async def test_every_event_comes_once_and_in_order_over_cuts(tmp_path: Path) -> None:
    seen: list[Event] = []
    async with over_a_proxy(tmp_path) as (proxy, place), Conversation(AGENT, place) as conversation:
        await conversation.send_message("Count.")
        async for item in conversation.run(after=0).stream():
            if not isinstance(item, Delta):
                seen.append(item)
                if item.seq % 10 == 0:
                    proxy.cut()
        assert conversation.state.status is DONE
        assert proxy.made > 5
        assert seen == await everything(conversation) == logged(tmp_path, conversation)


@pytest.mark.parametrize("seed", range(5))
async def test_it_counts_to_the_end_over_connections_that_do_not_last(tmp_path: Path, seed: int) -> None:
    async with over_a_proxy(tmp_path) as (proxy, place):
        proxy.lasts = random.Random(seed)
        async with Conversation(AGENT, replace(place, timeout=5.0)) as conversation:
            await conversation.rename("Counting")
            await conversation.send_message("Count.")
            assert (await conversation.run()).status is DONE
            await conversation.set_tags({"counted": "yes"})
            events = await everything(conversation)
        assert events == logged(tmp_path, conversation)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len([e for e in events if isinstance(e, MessageEvent) and e.source == "user"]) == 1
        assert len([e for e in events if isinstance(e, RunRequested)]) == 1
        assert len([e for e in events if isinstance(e, ObservationEvent)]) == program.STEPS + 1


async def test_a_connection_that_falls_silent_is_given_up(tmp_path: Path) -> None:
    async with over_a_proxy(tmp_path) as (proxy, place), Conversation(AGENT, place) as conversation:
        await conversation.send_message("Count.")
        async for event in conversation.run():
            if event.seq == 20:
                proxy.hush()
        assert conversation.state.status is DONE
        assert await everything(conversation) == logged(tmp_path, conversation)


async def test_a_socket_that_is_behind_what_is_answered_is_given_up(tmp_path: Path) -> None:
    async with over_a_proxy(tmp_path) as (proxy, _):
        patient = RemoteWorkspace(proxy.url, path="workspace", timeout=60.0, api_key=TOKEN)
        async with Conversation(AGENT, patient) as conversation:
            proxy.hush()
            for line in proxy.lines[1:]:
                line.cut()  # but for the socket's: a request would wait for its answer
            with anyio.fail_after(10):
                await conversation.send_message("Count.")
            assert isinstance((await everything(conversation))[-1], MessageEvent)


async def test_without_a_network_a_request_fails_and_later_it_goes_on(tmp_path: Path) -> None:
    async with over_a_proxy(tmp_path) as (proxy, place), Conversation(AGENT, place) as conversation:
        proxy.refusing = True
        proxy.cut()
        with pytest.raises(ServerUnreachable):
            await conversation.send_message("Count.")
        proxy.refusing = False
        await conversation.send_message("Count.")
        assert (await conversation.run()).status is DONE


async def test_leaving_it_lets_it_run_on(tmp_path: Path) -> None:
    async with over_a_proxy(tmp_path) as (_, place):
        async with Conversation(AGENT, place) as conversation:
            await conversation.send_message("Count.")
            await conversation.start_run()
        async with Conversation(id=conversation.id, workspace=place) as conversation:
            async for item in conversation.stream():
                if isinstance(item, ObservationEvent) and item.tool_name == "finish":
                    break
            assert conversation.state.status is DONE


@contextmanager
def process(directory: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address."""
    words = [sys.executable, "-m", "tests.remote.program", str(directory), str(port)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=root) as running:
        try:
            assert running.stdout is not None
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


async def test_a_server_that_is_killed_and_started_again_is_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    seen: list[Event] = []
    with process(tmp_path) as (first, url):
        place = RemoteWorkspace(url, path="workspace", timeout=20.0, api_key=TOKEN)
        async with Conversation(AGENT, place) as conversation:
            await conversation.send_message("Count.")
            await conversation.start_run()
            stream = conversation.stream()
            async for item in stream:
                if not isinstance(item, Delta):
                    seen.append(item)
                    if item.seq == 100:
                        break
            first.kill()
            await anyio.to_thread.run_sync(first.wait)
            with process(tmp_path, int(url.rpartition(":")[2])), anyio.fail_after(30):
                async for item in conversation.stream(seen[-1].seq):
                    if not isinstance(item, Delta):
                        seen.append(item)
                        if isinstance(item, RunEnded):
                            break
                assert conversation.state.status is DONE
                numbers = [plain(e.content) for e in seen if isinstance(e, ObservationEvent) and e.tool_name == "count"]
                assert seen == logged(tmp_path, conversation)
    assert len(set(numbers)) == len(numbers) >= program.STEPS - 1, "of the one that was cut off nobody knows the result"
