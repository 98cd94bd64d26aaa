"""The proxy through which a browser goes out."""

from __future__ import annotations

import anyio
import pytest

from agentrt.network import Guard
from agentrt.network.egress import Egress, egress

pytestmark = pytest.mark.real


async def asked(proxy: Egress, head: str, then: bytes = b"") -> bytes:
    """All that the proxy answers."""
    async with await anyio.connect_tcp("127.0.0.1", proxy.port) as stream:
        await stream.send(head.encode())
        found = b""
        try:
            while True:
                found += await stream.receive()
                if then and b"\r\n\r\n" in found:
                    await stream.send(then)
                    then = b""
        except anyio.EndOfStream:
            return found


class Origin:
    """A server that notes what it is asked, and answers with some bytes."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.heard = answer, b""
        self.port = 0

    async def serve(self, tasks: anyio.abc.TaskGroup) -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self.port = listener.extra(anyio.abc.SocketAttribute.local_port)

        async def serve() -> None:
            async with listener:
                await listener.serve(self._one)

        tasks.start_soon(serve)

    async def _one(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            while b"\r\n\r\n" not in self.heard and b"\n" not in self.heard:
                self.heard += await stream.receive()
            await stream.send(self.answer)


@pytest.mark.parametrize("tunnel", [False, True])
async def test_what_is_allowed_is_passed_on(tunnel: bool) -> None:
    origin = Origin(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
    async with anyio.create_task_group() as tasks:
        await origin.serve(tasks)
        async with egress(Guard([f"127.0.0.1:{origin.port}"])) as proxy:
            if tunnel:
                head = f"CONNECT 127.0.0.1:{origin.port} HTTP/1.1\r\n\r\n"
                said = await asked(proxy, head, b"GET /x HTTP/1.1\r\n\r\n")
                assert said.startswith(b"HTTP/1.1 200 Connected\r\n\r\n")
            else:
                fields = "Host: a\r\nProxy-Connection: keep-alive\r\n\r\n"
                said = await asked(proxy, f"GET http://127.0.0.1:{origin.port}/x?y=1 HTTP/1.1\r\n{fields}")
                assert origin.heard == b"GET /x?y=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            assert said.endswith(b"hello")
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "place", ["127.0.0.1:9", "localhost:9", "169.254.169.254:80", "10.1.2.3:443", "[::1]:80", "[::ffff:10.0.0.1]:80"]
)
async def test_private_addresses_are_refused(place: str) -> None:
    async with egress(Guard()) as proxy:
        for head in (f"CONNECT {place} HTTP/1.1\r\n\r\n", f"GET http://{place}/ HTTP/1.1\r\n\r\n"):
            assert (await asked(proxy, head)).startswith(b"HTTP/1.1 403 Refused")
        assert len(proxy.refused) == 1


async def test_too_much_is_cut_and_told() -> None:
    origin = Origin(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (3 << 20))
    async with anyio.create_task_group() as tasks:
        await origin.serve(tasks)
        async with egress(Guard(["127.0.0.1"]), 1 << 20) as proxy:
            said = await asked(proxy, f"GET http://127.0.0.1:{origin.port}/ HTTP/1.1\r\n\r\n")
            assert len(said) <= 1 << 20
            assert proxy.refused == {f"127.0.0.1:{origin.port}": "it sent more than 1 MiB over one connection"}
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "head",
    ["nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET ftp://x/ HTTP/1.1\r\n\r\n", "CONNECT x HTTP/1.1\r\n\r\n"],
)
async def test_what_is_no_request_is_refused(head: str) -> None:
    async with egress(Guard()) as proxy:
        assert (await asked(proxy, f"{head}\r\n\r\n")).startswith(b"HTTP/1.1 400")


async def test_a_name_that_is_not_known_is_told() -> None:
    async with egress(Guard()) as proxy:
        assert b"502" in await asked(proxy, "CONNECT no-such-host.invalid:443 HTTP/1.1\r\n\r\n")
