"""Servers that point to addresses of this network, each with a canary there that must not be asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import httpx2
import pytest

from agentrt.errors import ToolError
from agentrt.mcp.connection import connected
from agentrt.mcp.guarded import LONGEST_ANSWER, Guarded, check_public
from agentrt.mcp.login import Person, log_in
from agentrt.mcp.loopback import loopback
from agentrt.mcp.tokens import tokens_of
from agentrt.secrets import Cipher, StoreKey
from agentrt.specs.mcp import MCPServer
from agentrt.storage.memory import MemoryStorage
from tests.mcp.test_oauth import visit

pytestmark = pytest.mark.real

Answer = tuple[int, dict[str, str], str]


@asynccontextmanager
async def answering(answer: Callable[[str, str], Answer]) -> AsyncIterator[tuple[int, list[str]]]:
    """A server of one page each: by method and path a status, headers and a body. Its port, and what it was asked."""
    asked: list[str] = []

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive()
            method, path, _ = head.decode().split(" ", 2)
            asked.append(f"{method} {path}")
            status, headers, body = answer(method, path)
            lines = [f"HTTP/1.1 {status} X", "Connection: close", f"Content-Length: {len(body)}"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            await stream.send(("\r\n".join(lines) + "\r\n\r\n" + body).encode())

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, serve)
        yield listener.extra(anyio.abc.SocketAttribute.local_port), asked
        tasks.cancel_scope.cancel()


def silent(method: str, path: str) -> Answer:
    return 200, {}, "{}"


@pytest.mark.parametrize("host", ["localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "127.0.0.2"])
@pytest.mark.parametrize("points", ["resource", "authority", "endpoint", "redirect"])
async def test_what_a_server_points_to_is_not_asked_where_it_is_private(points: str, host: str) -> None:
    tokens = tokens_of(MemoryStorage().shelf, StoreKey(Cipher(Cipher.new_key()), None))(None)
    with anyio.fail_after(30):
        async with answering(silent) as (canary, disturbed):
            there = f"http://{host}:{canary}"

            def answer(method: str, path: str) -> Answer:
                own = f"http://127.0.0.1:{port}"
                if points == "redirect" and path == "/mcp":
                    return 307, {"Location": f"{there}/mcp"}, ""
                if path.startswith("/.well-known/oauth-protected-resource"):
                    if points == "redirect":
                        return 307, {"Location": f"{there}{path}"}, ""
                    at = there if points == "authority" else own
                    return 200, {}, json.dumps({"resource": f"{own}/mcp", "authorization_servers": [at]})
                if path.startswith("/.well-known/oauth-authorization-server"):
                    ends = {name: f"{there}/{name}" for name in ("authorize", "token", "register")}
                    return (
                        200,
                        {},
                        json.dumps(
                            {
                                "issuer": own,
                                "authorization_endpoint": ends["authorize"],
                                "token_endpoint": ends["token"],
                                "registration_endpoint": ends["register"],
                                "response_types_supported": ["code"],
                            }
                        ),
                    )
                where = f'Bearer resource_metadata="{there}/meta"' if points == "resource" else "Bearer"
                return 401, {"WWW-Authenticate": where}, ""

            async with answering(answer) as (port, asked):
                server = MCPServer(url=f"http://127.0.0.1:{port}/mcp")
                async with loopback() as (redirect, answered):
                    with pytest.raises(ToolError) as failed:
                        await log_in(server, tokens, Person(redirect, visit, answered))
                assert asked
            assert disturbed == [], str(failed.value)
            assert points == "redirect" or "refused" in str(failed.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("file:///etc/passwd", "not a web address"),
        ("javascript:alert(1)", "not a web address"),
        ("http://169.254.169.254/latest", "private address 169.254.169.254"),
        ("http://[fd00::1]/", "private address fd00::1"),
        ("http://no-such-host.invalid/", "not known"),
        ("http://[::127.0.0.1]/", "private address"),
        ("http://[::ffff:10.0.0.1]/", "private address"),
        ("http://[64:ff9b::7f00:1]/", "private address"),
        ("http://[2002:7f00:1::]/", "private address"),
        ("http://[fec0::1]/", "private address"),
    ],
)
async def test_an_address_for_a_person_is_public_or_the_servers_own(url: str, says: str) -> None:
    with pytest.raises(httpx2.ConnectError, match=says):
        await check_public(url, "https://example.com/mcp")
    await check_public("http://127.0.0.1:1/login", "http://127.0.0.1:2/mcp")


async def test_an_endless_answer_is_cut_and_the_server_is_not_there() -> None:
    long = "x" * (LONGEST_ANSWER + 1)
    with anyio.fail_after(30):
        async with answering(lambda method, path: (200, {"Content-Type": "application/json"}, long)) as (port, _):
            url = f"http://127.0.0.1:{port}/mcp"
            async with httpx2.AsyncClient(transport=Guarded(url)) as http:
                with pytest.raises(httpx2.ReadError, match="longer than 64 MiB"):
                    await http.get(url)
            async with connected("long", MCPServer(url=url, connect_timeout=10)) as connection:
                assert (await connection.ready()).problem
