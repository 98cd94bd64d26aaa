"""A network that fails: between a client and a server, it cuts connections, and lets them fall silent."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class _Line:
    """One connection through the proxy, with both its ends."""

    def __init__(self, here: asyncio.StreamWriter, there: asyncio.StreamWriter) -> None:
        self.ends = (here, there)
        self.silent = False
        """Whether what comes is swallowed, both ways."""

    def cut(self) -> None:
        for end in self.ends:
            end.transport.abort()


class Proxy:
    """Passes on what comes, until it is told otherwise."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.lines: list[_Line] = []
        self.refusing = False
        self.made = 0
        """How many connections were made."""
        self.lasts: random.Random | None = None
        """From which is drawn after how many bytes a connection is cut; None: they last."""
        self.url = ""

    def cut(self) -> None:
        """Cut all connections that there are."""
        for line in self.lines:
            line.cut()

    def hush(self) -> None:
        """Let all connections that there are fall silent, and stay open."""
        for line in self.lines:
            line.silent = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        self.made += 1
        parts = urlsplit(self.target)
        try:
            if self.refusing:
                raise ConnectionRefusedError
            far_reader, far_writer = await asyncio.open_connection(parts.hostname, parts.port)
        except OSError:
            writer.transport.abort()
            return
        line = _Line(writer, far_writer)
        self.lines.append(line)
        left = [int(10 ** self.lasts.uniform(1.5, 5.8))] if self.lasts is not None else [1 << 60]
        try:
            await asyncio.gather(self._pass(line, reader, far_writer, left), self._pass(line, far_reader, writer, left))
        except asyncio.CancelledError:
            pass  # it ends with the test
        finally:
            line.cut()
            self.lines.remove(line)

    async def _pass(
        self, line: _Line, source: asyncio.StreamReader, sink: asyncio.StreamWriter, left: list[int]
    ) -> None:
        with suppress(OSError):
            while data := await source.read(16_384):
                if line.silent:
                    continue
                sink.write(data[: left[0]])
                await sink.drain()
                left[0] -= len(data)
                if left[0] <= 0:
                    break
        line.cut()


@asynccontextmanager
async def proxied(target: str) -> AsyncIterator[Proxy]:
    """A proxy in front of the server at the URL `target`."""
    proxy = Proxy(target)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut()
        await server.wait_closed()
