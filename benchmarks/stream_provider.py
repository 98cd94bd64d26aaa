"""The provider of `bench_streams`, in a process of its own: it streams chat completions that do not end.

    python stream_provider.py PACE

PACE is the seconds between two pieces of an answer. The first line that it prints is its URL. Then it answers each line
of its input: "mark" begins to count anew, "stats" gives a line of JSON with what was since. It ends with its input.

It does no more than write, so that it can carry more than a server that is measured. Each piece has the moment at which
it was written, for those who get it in the end.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from typing import Any, cast

import harness
import uvloop

STAMP = re.compile(rb"~(\d{10})~")
"""The moment of a piece, in tenths of a millisecond of this machine's clock, without the digits before the last ten."""

_TICK, _ROUND = 10_000, 10**10

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_CHUNK = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"scripted","choices":[{"index":0,'
    b'"delta":{"role":"assistant","content":" word ~%010d~"},"finish_reason":null}]}\n\n'
)
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def since(stamp: bytes, now: float) -> float:
    """Seconds from a piece's moment to `now`, on the clock of `time.time`."""
    return ((int(now * _TICK) - int(stamp)) % _ROUND) / _TICK


class Counts:
    """What was since the last mark: pieces, and how late they were written."""

    def __init__(self) -> None:
        self.active = 0
        self.mark()

    def mark(self) -> None:
        """Begin anew."""
        self.late = list[float]()

    def stats(self) -> dict[str, Any]:
        """Answers that are streamed now, pieces written, and by how many seconds too late."""
        late = [harness.percentile(self.late or [0.0], percent) for percent in (50, 99)]
        return {"active": self.active, "pieces": len(self.late), "late": late}


class Answering(asyncio.Protocol):
    """A connection: one request, and its answer until the client goes."""

    def __init__(self, counts: Counts, pace: float) -> None:
        self._counts, self._pace = counts, pace
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._next: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Begin to answer once the request is there."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if self._next is None and found and len(body) >= (int(length[1]) if length else 0):
            self._counts.active += 1
            self._transport.write(_HEAD)
            self._say(self._loop.time())

    def connection_lost(self, error: Exception | None) -> None:
        """Stop."""
        if self._next is not None:
            self._next.cancel()
            self._counts.active -= 1

    def _say(self, due: float) -> None:
        self._counts.late.append(self._loop.time() - due)
        chunk = _CHUNK % (int(time.time() * _TICK) % _ROUND)
        self._transport.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        due += self._pace
        self._next = self._loop.call_at(due, self._say, due)


async def provide(pace: float) -> None:
    """Serve until the input ends."""
    loop, counts = asyncio.get_running_loop(), Counts()
    server = await loop.create_server(lambda: Answering(counts, pace), "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        if line.strip() == b"mark":
            counts.mark()
        print(json.dumps(counts.stats()), flush=True)


if __name__ == "__main__":
    uvloop.run(provide(float(sys.argv[1])))
