"""A server under load: 400 conversations with real processes, and 200 subscribers that come and go."""

from __future__ import annotations

import os
import random
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import anyio.abc
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from agentrt.context.replies import ModelReply
from agentrt.server.principals import Scope
from agentrt.testing import ScriptedProvider, call, finish
from tests.server.streams.following import log_of
from tests.stores import make_key

from .mirror import Mirror
from .waiting import eventually

pytestmark = pytest.mark.long

CONVERSATIONS = 400
SUBSCRIBERS = 200
SECONDS = 600.0
BEGINNING = 16
"""How many conversations are begun side by side."""

STEPS = (
    call("terminal", command="echo one > one.txt; cat one.txt"),
    call("file_editor", command="create", path="notes.md", file_text="# Notes\n\nfirst\n"),
    call("terminal", command="seq 200 | tail -n 1; (sleep 2 &)"),
    call("file_editor", command="str_replace", path="notes.md", old_str="first", new_str="second"),
    call("terminal", command="wc -l notes.md one.txt"),
    finish("Done."),
)


def next_step(body: dict[str, Any]) -> ModelReply:
    """What the model says next, by what it has said."""
    taken = sum(bool(message.get("tool_calls")) for message in body["messages"])
    return STEPS[min(taken, len(STEPS) - 1)]


@asynccontextmanager
async def agentrt_serve(directory: Path, provider: ScriptedProvider) -> AsyncIterator[tuple[anyio.abc.Process, str]]:
    """`agentrt serve` as a process, and its address."""
    words = f"serve --port 0 --store {directory}/store -w {directory} --confirm never --rate none --log-level warning"
    limits, model = ["--max-sockets", "1000"], ["--model", "openai/scripted", "--base-url", provider.base_url]
    command = [sys.executable, "-m", "agentrt", *words.split(), *limits, *model]
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    async with await anyio.open_process(command, cwd=directory, env=environment, stderr=None) as process:
        assert process.stdout is not None
        try:
            with anyio.fail_after(60):
                line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1000)
            found = re.search(rb"listens on (\S+)", line)
            assert found, line
            yield process, found[1].decode()
        finally:
            if process.returncode is None:
                process.terminate()
                with anyio.move_on_after(30):
                    await process.wait()


async def test_each_list_is_its_log(tmp_path: Path) -> None:
    chance = random.Random(1)
    key = await make_key(tmp_path / "store", "ada", list(Scope))
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), headers={"Authorization": f"Bearer {key}"}, raise_for_status=True
    )
    async with ScriptedProvider(next_step) as provider, agentrt_serve(tmp_path, provider) as (process, url), session:
        await eventually(partial(takes_work, session, url), "it is ready", 60)
        names, mirrors = list[str](), list[Mirror]()

        async def come_and_go(mirror: Mirror) -> None:
            while True:
                with anyio.move_on_after(chance.expovariate(0.5)):
                    await mirror.follow(url)

        async def begin(count: int) -> None:
            for _ in range(count):
                async with session.post(f"{url}/conversations", json={"message": "Work."}) as answer:
                    names.append((await answer.json())["id"])
                if len(mirrors) < SUBSCRIBERS:
                    mirrors.append(Mirror(session, names[-1]))
                    tasks.start_soon(come_and_go, mirrors[-1])

        async with anyio.create_task_group() as tasks:
            async with anyio.create_task_group() as beginning:
                for _ in range(BEGINNING):
                    beginning.start_soon(begin, CONVERSATIONS // BEGINNING)
            for name in names:
                await eventually(partial(finished, session, url, name), f"{name} has finished", SECONDS)
            tasks.cancel_scope.cancel()
        assert process.returncode is None
        assert len(mirrors) == SUBSCRIBERS
        async with anyio.create_task_group() as tasks:
            for mirror in mirrors:
                tasks.start_soon(mirror.follow, url)
            logs = {mirror.conversation: log_of(tmp_path, mirror.conversation) for mirror in mirrors}
            await eventually(lambda: all(len(m.events) >= len(logs[m.conversation]) for m in mirrors), "all", SECONDS)
            tasks.cancel_scope.cancel()
        assert all(mirror.events == logs[mirror.conversation] for mirror in mirrors)
        process.terminate()
        with anyio.fail_after(60):
            assert await process.wait() == 0


async def takes_work(session: aiohttp.ClientSession, url: str) -> bool:
    """Whether the server is ready."""
    async with session.get(f"{url}/ready", raise_for_status=False) as answer:
        return answer.status == 200


async def finished(session: aiohttp.ClientSession, url: str, name: str) -> bool:
    """Whether a conversation has finished. Fails when it has ended otherwise."""
    async with session.get(f"{url}/conversations/{name}") as answer:
        status = (await answer.json())["status"]
    assert status in ("running", "finished", "idle"), status
    return bool(status == "finished")
