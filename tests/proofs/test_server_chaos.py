"""What can happen to a server and its clients: at the end each client has the log, byte for byte."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import aiohttp
import anyio
import anyio.abc
import msgspec
import pytest

from agentrt.conversation import Conversation
from agentrt.server.auth.credentials import COOKIE
from agentrt.server.principals import EVERYONE
from agentrt.testing import ScriptedLLM, finish
from tests.server.served import Client, served
from tests.server.streams.following import begun, log_of, settings

from . import streaming_server
from .mirror import Mirror
from .waiting import eventually

pytestmark = pytest.mark.long

PROJECT = Path(__file__).parent.parent.parent
SECONDS = 120.0


class Killed:
    """A server in a process of its own, which can be killed and begun again at the same address."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._port = directory, 0
        self._process: anyio.abc.Process | None = None
        self._up = anyio.Event()
        self.url = ""

    async def up(self) -> None:
        """Return while it serves."""
        await self._up.wait()

    async def begin(self) -> None:
        """Begin it, and wait until it serves."""
        program = [sys.executable, "-m", streaming_server.__name__, str(self._directory), str(self._port)]
        self._process = await anyio.open_process(program, cwd=PROJECT, stdout=subprocess.PIPE, stderr=None)
        assert self._process.stdout is not None
        with anyio.fail_after(SECONDS):
            self.url = (await self._process.stdout.receive()).decode().strip()
        self._port = int(self.url.rpartition(":")[2])
        self._up.set()

    async def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._up = anyio.Event()
            os.kill(self._process.pid, signal.SIGKILL)
            await self._process.aclose()
            self._process = None


@asynccontextmanager
async def killable(directory: Path) -> AsyncIterator[Killed]:
    """Such a server, begun."""
    server = Killed(directory)
    try:
        await server.begin()
        yield server
    finally:
        await server.kill()


@asynccontextmanager
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client that has as many connections as it wants."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), cookies={COOKIE: streaming_server.TOKEN}
    ) as found:
        yield found


async def say(conversation: Conversation, count: int, size: int = 200) -> None:
    """Log so many messages."""
    for number in range(count):
        await conversation.send_message(f"{number} " + "x" * size)


async def mirrored(mirrors: Sequence[Mirror], directory: Path) -> None:
    """Wait until each has the log as it is now, byte for byte; what comes after that, too, as far as it has it."""
    names = {mirror.conversation for mirror in mirrors}
    now = {name: len(log_of(directory, name)) for name in names}
    await eventually(
        lambda: all(len(mirror.events) >= now[mirror.conversation] for mirror in mirrors), "all events", SECONDS
    )
    logs = {name: log_of(directory, name) for name in names}
    for mirror in mirrors:
        assert mirror.events == logs[mirror.conversation][: len(mirror.events)]


async def test_kill_9_in_the_middle_of_100_conversations(tmp_path: Path) -> None:
    chance = random.Random(9)
    async with killable(tmp_path) as server, session() as client, anyio.create_task_group() as tasks:
        names = []
        for _ in range(100):
            async with client.post(server.url + "/conversations", json={"message": "Count"}) as answer:
                names.append((await answer.json())["id"])
        mirrors = [Mirror(client, name) for name in names]
        for mirror in mirrors:
            tasks.start_soon(mirror.follow, server.url, server.up)
        for number in range(3):
            wanted = sum(len(mirror.events) for mirror in mirrors) + chance.randint(200, 1200)

            def under_way(number: int = number, wanted: int = wanted) -> bool:
                everyone = all(mirror.connections > number for mirror in mirrors)
                return everyone and sum(len(mirror.events) for mirror in mirrors) > wanted

            await eventually(under_way, "everyone follows, and more happens", SECONDS)
            await server.kill()
            await server.begin()
        (tmp_path / streaming_server.ENOUGH).touch()

        async def ended(name: str) -> bool:
            async with client.get(f"{server.url}/conversations/{name}") as answer:
                return str((await answer.json())["status"]) in ("finished", "error", "stuck", "paused")

        for name in names:
            await eventually(partial(ended, name), f"{name} has ended", SECONDS)
        await mirrored(mirrors, tmp_path)
        assert all(mirror.connections >= 4 for mirror in mirrors)
        tasks.cancel_scope.cancel()


async def connected_once(mirror: Mirror, url: str) -> None:
    """Follow until it is connected once more."""
    before = mirror.connections
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mirror.follow, url)
        await eventually(lambda: mirror.connections > before, "connected", SECONDS)
        tasks.cancel_scope.cancel()


async def test_a_storm_of_reconnects(tmp_path: Path) -> None:
    chance = random.Random(1)
    async with (
        served(tmp_path, ScriptedLLM([]), settings(tmp_path, **ENOUGH)) as client,
        session() as http,
    ):
        name = await begun(client)
        conversation = await client.services.hosting.get(name, EVERYONE)
        mirrors = [Mirror(http, name) for _ in range(200)]

        async def restless(mirror: Mirror) -> None:
            for _ in range(10):
                with anyio.move_on_after(chance.expovariate(2)):
                    await mirror.follow(client.url)
            while mirror.connections < 3:  # a busy machine connects few within such moments
                await connected_once(mirror, client.url)
            await mirror.follow(client.url)

        async with anyio.create_task_group() as tasks:
            for mirror in mirrors:
                tasks.start_soon(restless, mirror)
            await say(conversation, 500)
            await mirrored(mirrors, tmp_path)
            await eventually(lambda: all(mirror.connections > 3 for mirror in mirrors), "all come again", SECONDS)
            tasks.cancel_scope.cancel()
        await eventually(lambda: not client.services.streams.count, "nobody is left", SECONDS)


async def test_subscribers_that_stop_reading(tmp_path: Path) -> None:
    """The patience is long, since the kernel gives them up after twice that: till then they can read why."""
    async with (
        served(tmp_path, ScriptedLLM([]), settings(tmp_path, patience=10.0, **ENOUGH)) as client,
        session() as http,
    ):
        name = await begun(client)
        conversation = await client.services.hosting.get(name, EVERYONE)
        readers, sleepers = [Mirror(http, name) for _ in range(10)], [Mirror(http, name) for _ in range(50)]
        async with anyio.create_task_group() as tasks:
            for mirror in readers:
                tasks.start_soon(mirror.follow, client.url)
            sockets = [await http.ws_connect(client.url + mirror.path, max_msg_size=0) for mirror in sleepers]
            await eventually(lambda: client.services.streams.count == 60, "all follow")
            await say(conversation, 200, 60_000)
            await mirrored(readers, tmp_path)
            await eventually(lambda: client.services.streams.count == 10, "sleepers are left", SECONDS)
            for mirror, socket in zip(sleepers, sockets, strict=True):
                async for message in socket:
                    await mirror.take(socket, message.data)
                assert socket.close_code == 4008
                assert 0 < len(mirror.events) < conversation.state.seq
                tasks.start_soon(mirror.follow, client.url)
            await mirrored(sleepers, tmp_path)
            tasks.cancel_scope.cancel()
        assert all(mirror.connections == 1 for mirror in readers)


async def test_lines_that_go_dead_without_a_word(tmp_path: Path) -> None:
    fields = {"heartbeat": 0.2, "patience": 1.0} | ENOUGH
    async with (
        served(tmp_path, ScriptedLLM([]), settings(tmp_path, **fields)) as client,
        session() as http,
    ):
        name = await begun(client)
        conversation = await client.services.hosting.get(name, EVERYONE)
        mirrors = [Mirror(http, name) for _ in range(20)]
        async with silenced(client) as (url, hush), anyio.create_task_group() as tasks:
            async with anyio.create_task_group() as through:
                for mirror in mirrors:
                    through.start_soon(mirror.follow, url)
                for mirror in mirrors:
                    await mirror.live.wait()
                hush.set()
                await say(conversation, 50)
                await eventually(lambda: client.services.streams.count == 0, "they are given up", SECONDS)
                through.cancel_scope.cancel()
            for mirror in mirrors:
                tasks.start_soon(mirror.follow, client.url)
            await mirrored(mirrors, tmp_path)
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def silenced(client: Client) -> AsyncIterator[tuple[str, anyio.Event]]:
    """A way to the server that goes dead when the event is set: nothing is passed on, and nothing is closed."""
    hush, port = anyio.Event(), int(client.url.rpartition(":")[2])

    async def both(here: anyio.abc.SocketStream) -> None:
        async with here, await anyio.connect_tcp("127.0.0.1", port) as there, anyio.create_task_group() as tasks:
            tasks.start_soon(one, here, there)
            tasks.start_soon(one, there, here)

    async def one(source: anyio.abc.SocketStream, target: anyio.abc.SocketStream) -> None:
        try:
            while True:
                data = await source.receive()
                if not hush.is_set():
                    await target.send(data)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            if hush.is_set():
                await anyio.sleep_forever()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, both)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}", hush
        tasks.cancel_scope.cancel()


async def test_garbage(tmp_path: Path) -> None:
    chance = random.Random(3)
    fields = {"heartbeat": 0.5, "patience": 2.0} | ENOUGH  # some look alive to the server until they are asked
    async with served(
        tmp_path,
        ScriptedLLM(lambda request: finish("Done.")),
        settings(tmp_path, **fields),
    ) as client:
        name = await begun(client)
        port = int(client.url.rpartition(":")[2])

        async def raw() -> None:
            """After a good handshake, bytes that are no frames of a WebSocket."""
            async with await anyio.connect_tcp("127.0.0.1", port) as line:
                await line.send(
                    f"GET /conversations/{name}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                    "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                    "Sec-WebSocket-Version: 13\r\n\r\n".encode()
                )
                await swallow(lambda: line.send(chance.randbytes(chance.randint(1, 5000))))

        async def messages() -> None:
            """Messages that are no frames of ours."""
            frame = msgspec.json.encode(
                [{"type": "do", "id": "1", "conversation": name, "control": {"type": "message"}}]
            )
            async with http.ws_connect(f"{client.url}/conversations/{name}/events") as socket:
                for _ in range(30):
                    bytes_ = bytearray(frame)
                    for _ in range(chance.randint(1, 8)):
                        bytes_[chance.randrange(len(bytes_))] = chance.randrange(256)
                    await swallow(lambda: socket.send_bytes(bytes(bytes_)))  # noqa: B023
                async for _ in socket:
                    pass
                assert socket.close_code == 4009

        async with session() as http, anyio.create_task_group() as tasks:
            mirror = Mirror(http, name)
            tasks.start_soon(mirror.follow, client.url)
            await mirror.live.wait()
            async with anyio.create_task_group() as attackers:
                for _ in range(100):
                    attackers.start_soon(raw)
                    attackers.start_soon(messages)
                for _ in range(20):
                    status, _ = await client.ask(
                        "POST", f"/conversations/{name}/message", {"content": "Go", "run": True}
                    )
                    assert status == 200
            await mirrored([mirror], tmp_path)
            assert mirror.connections == 1
            tasks.cancel_scope.cancel()
        await eventually(lambda: not client.services.streams.count, "nobody is left", SECONDS)


async def swallow(send: Callable[[], Awaitable[object]]) -> None:
    """Send to one who may have closed."""
    try:
        await send()
    except (OSError, aiohttp.ClientError, anyio.BrokenResourceError, RuntimeError):
        return


ENOUGH = {"token": streaming_server.TOKEN, "rate": None, "max_requests": 10_000, "max_sockets": 10_000}
"""Settings that let one address do as much as all clients do, which have that token."""
