"""A server on loopback that answers with whatever bytes a test gives, as long as it likes to."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio
import anyio.abc
import msgspec
from anyio.streams.tls import TLSListener


class Asked(msgspec.Struct, frozen=True):
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Handler: TypeAlias = Callable[[Asked, anyio.abc.ByteSendStream], Awaitable[None]]


class Server:
    """Where it is, and what it was asked."""

    def __init__(self, port: int) -> None:
        self.port, self.asked = port, list[Asked]()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]


def page(body: bytes | str, kind: str = "text/html", status: int = 200, **headers: str) -> bytes:
    """An answer of HTTP/1.1 with its length."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(data)}", "Connection: close"]
    lines += [f"Content-Type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + data


def endless(kind: str = "text/html", **headers: str) -> bytes:
    """The head of an answer that ends with the connection."""
    lines = ["HTTP/1.1 200 OK", f"Content-Type: {kind}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def pages(given: Mapping[str, bytes]) -> Handler:
    """Answers by the path without its query; what is not there is a 404."""

    async def answer(asked: Asked, stream: anyio.abc.ByteSendStream) -> None:
        await stream.send(given.get(asked.path.partition("?")[0], page("not here", status=404)))

    return answer


@asynccontextmanager
async def serving(
    handler: Handler, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    """A server for the body of the block; its connections end with it."""

    async def serve(stream: anyio.abc.ByteStream) -> None:
        async with stream:
            try:
                server.asked.append(asked := await _asked(stream))
                await handler(asked, stream)
                if tls is None:
                    await stream.send_eof()
            except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError):
                return

    failed: Exception | None = None
    async with await anyio.create_tcp_listener(local_host=host) as listener, anyio.create_task_group() as tasks:
        server = Server(listener.extra(anyio.abc.SocketAttribute.local_port))
        tasks.start_soon(listener.serve if tls is None else TLSListener(listener, tls).serve, serve)
        try:
            yield server
        except Exception as error:
            failed = error  # raised outside of the task group, which would make a group of it
        tasks.cancel_scope.cancel()
    if failed is not None:
        raise failed


async def _asked(stream: anyio.abc.ByteStream) -> Asked:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
        if data.startswith(b"\x16"):  # the beginning of TLS
            raise anyio.EndOfStream
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += await stream.receive()
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, body)
