"""The clients of `bench_server` and `bench_streams`, in a process of their own.

They are bare sockets, to measure a server and not themselves. They run in uvloop's event loop, where a message costs
them some 10 us: in asyncio's it is 30, which for 50 subscribers is as much as a server takes.

    python server_clients.py WORK JSON

The last line of the output is the result as JSON. Whatever happens, it ends after `LIFE` seconds.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, cast

import harness
import uvloop
from stream_provider import STAMP, since

LIFE = 150
COOKIE = f"Cookie: agentrt-token={harness.SERVER_TOKEN}"
"""Seconds after which the process ends itself."""

TOKEN = 12
"""Bytes of what a message is known by."""

TIMESTAMP = re.compile(rb'"type":"event".{0,200}?"timestamp":"([^"]+)"')
CLOSE = b"\x88"
"""The first byte of a close frame."""

HEARTBEAT = b'"type":"heartbeat"'
ALIVE = b'[{"type":"alive"}]'

Seen = Callable[[bytes, float], None]


class Socket(asyncio.Protocol):
    """A WebSocket that looks at the bytes as they come, and keeps none but the last few."""

    def __init__(self, host: str, path: str, seen: Seen) -> None:
        self._seen, self._tail = seen, b""
        key = base64.b64encode(os.urandom(16)).decode()
        self._request = (
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{COOKIE}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self.open = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None
        self.alive = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for a WebSocket."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._request.encode())

    def data_received(self, data: bytes) -> None:
        """Show it, after the end of what came before."""
        if not self.open.done():
            head, found, data = (self._tail + data).partition(b"\r\n\r\n")
            if not found:
                self._tail = head
                return
            if not head.startswith(b"HTTP/1.1 101"):
                self.open.set_exception(ConnectionError(head.decode(errors="replace")[:200]))
                return
            self.open.set_result(None)
            self.alive, self._tail = True, b""
        data = self._tail + data
        self._seen(data, time.time())
        self._tail = data[-(TOKEN - 1) :]
        if data[:1] == CLOSE:
            self.alive = False
        if HEARTBEAT in data and self.transport is not None:
            mask = os.urandom(4)
            body = bytes(byte ^ mask[place % 4] for place, byte in enumerate(ALIVE))
            self.transport.write(bytes((0x81, 0x80 | len(body))) + mask + body)

    def connection_lost(self, error: Exception | None) -> None:
        """It is closed."""
        self.alive = False
        if not self.open.done():
            self.open.set_exception(error or ConnectionError("closed"))


class Poster(asyncio.Protocol):
    """A connection that makes one request at a time."""

    def __init__(self, host: str) -> None:
        self._host, self._received = host, b""
        self._answer: asyncio.Future[int] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        self._transport = cast(asyncio.Transport, transport)

    def post(self, path: str, body: bytes) -> asyncio.Future[int]:
        """Send a request; the status of its answer."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\n{COOKIE}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._transport.write(head.encode() + body)
        return self._answer

    def data_received(self, data: bytes) -> None:
        """The answer is there with its whole body."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        if found and self._answer is not None and len(body) >= (int(length[1]) if length else 0):
            self._received = b""
            self._answer.set_result(int(head.split(b" ", 2)[1]))


async def connect(port: int, paths: list[str], seen: Seen) -> list[Socket]:
    """A socket for each path, all open."""
    loop, host, sockets = asyncio.get_running_loop(), f"127.0.0.1:{port}", list[Socket]()
    for begin in range(0, len(paths), 50):
        some = [Socket(host, path, seen) for path in paths[begin : begin + 50]]
        for socket in some:
            await loop.create_connection(lambda socket=socket: socket, "127.0.0.1", port)  # type: ignore[misc]
        await asyncio.gather(*(socket.open for socket in some))
        sockets += some
    return sockets


async def poster(port: int) -> Poster:
    """A connection for requests."""
    loop = asyncio.get_running_loop()
    _, made = await loop.create_connection(lambda: Poster(f"127.0.0.1:{port}"), "127.0.0.1", port)
    return made


async def latency(port: int, socket: str, post: str, body: str, subscribers: int, rounds: int) -> dict[str, Any]:
    """Post messages one after the other; for each, the seconds until the median and the last subscriber had it.

    `body` has "TOKEN" where the message goes.
    """
    token, times, everyone, count = b"\0", list[float](), asyncio.Event(), subscribers

    def seen(data: bytes, now: float) -> None:
        if token in data:
            times.append(now)
            if len(times) == count:
                everyone.set()

    sockets = await connect(port, [socket] * subscribers, seen)
    posts = await poster(port)
    await asyncio.sleep(0.5)
    count = sum(socket.alive for socket in sockets)  # a server may have closed some: those are not waited for
    result: dict[str, Any] = {"subscribers": count, "median": [], "last": [], "answer": []}
    for number in range(rounds + WARM):
        token = f"@@{number:08d}@@".encode()
        times.clear()
        everyone.clear()
        begun = time.time()
        answer = posts.post(post, body.replace("TOKEN", token.decode()).encode())
        status = await asyncio.wait_for(answer, 30)
        answered = time.time()
        if status >= 300:
            raise SystemExit(f"the post was answered with {status}")
        await asyncio.wait_for(everyone.wait(), 30)
        if number >= WARM:
            found = sorted(times)
            result["median"].append(found[len(found) // 2] - begun)
            result["last"].append(found[-1] - begun)
            result["answer"].append(answered - begun)
        await asyncio.sleep(0.01)
    close(sockets)
    return result


WARM = 5
"""Rounds that are not counted."""


async def watch(port: int, paths: list[str], seconds: float, post: str = "", rate: float = 0.0) -> dict[str, Any]:
    """Follow, for so many seconds, with so many posts a second in between; the events that came, and their delays.

    A delay is from when an event was made to when its bytes came, both by this machine's clock.
    """
    came: list[tuple[float, bytes]] = []
    quiet = True

    def seen(data: bytes, now: float) -> None:
        if not quiet:
            came.extend((now, stamp) for stamp in TIMESTAMP.findall(data))

    sockets = await connect(port, paths, seen)
    await asyncio.sleep(1.0)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    quiet, begun, posted = False, time.time(), 0
    if post:
        posts = await poster(port)
        while time.time() < begun + seconds:
            await asyncio.wait_for(posts.post(post, json.dumps({"content": "x" * 200}).encode()), 30)
            posted += 1
            if rate:
                await asyncio.sleep(max(0.0, begun + posted / rate - time.time()))
    else:
        await asyncio.sleep(seconds)
    wall = time.time() - begun
    await asyncio.sleep(0.3 if post else 0.0)
    quiet = True
    delays = sorted(now - datetime.fromisoformat(stamp.decode()).timestamp() for now, stamp in came)
    closed = sum(not socket.alive for socket in sockets)
    close(sockets)
    return {"wall": wall, "events": len(delays), "delays": delays[:: max(1, len(delays) // 10_000)], "closed": closed}


async def deltas(port: int, paths: list[str], seconds: float) -> dict[str, Any]:
    """Follow streams for so many seconds; the pieces that came, and how long after the provider wrote them.

    Each has the moment in it at which it was written (see `stream_provider`).
    """
    delays, lags, quiet = list[float](), list[float](), True

    def seen(data: bytes, now: float) -> None:
        if not quiet:
            delays.extend(since(stamp, now) for stamp in STAMP.findall(data))

    sockets = await connect(port, paths, seen)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    sampler = asyncio.create_task(harness.sample_lag(lags))
    quiet, begun = False, time.perf_counter()
    await asyncio.sleep(seconds)
    quiet, wall = True, time.perf_counter() - begun
    sampler.cancel()
    closed = sum(not socket.alive for socket in sockets)
    close(sockets)
    found = {"delays": [harness.percentile(delays or [0.0], percent) for percent in (50, 99, 100)]}
    return {"wall": wall, "pieces": len(delays), "closed": closed, "lag": harness.percentile(lags, 99), **found}


def close(sockets: list[Socket]) -> None:
    """Let go of them."""
    for socket in sockets:
        if socket.transport is not None:
            socket.transport.abort()


def main() -> None:
    """Run from the command line."""
    signal.alarm(LIFE)
    given = json.loads(sys.argv[2])
    work: dict[str, Callable[..., Coroutine[Any, Any, dict[str, Any]]]] = {
        "latency": latency,
        "watch": watch,
        "deltas": deltas,
    }
    print(json.dumps(uvloop.run(work[sys.argv[1]](**given))), flush=True)


if __name__ == "__main__":
    main()
