from __future__ import annotations

import socket
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agentrt.server import ServerSettings
from agentrt.testing import ScriptedLLM

from .served import Client, served

pytestmark = pytest.mark.real

HEAD = (
    "POST /conversations HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    "Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
)


def head(client: Client, size: int) -> str:
    """The head of a request with a body of this size."""
    return HEAD.format(host=client.url.removeprefix("http://"), size=size, token=client.services.access.token)


async def test_who_sends_too_much_is_told_and_let_go(tmp_path: Path) -> None:
    """The whole body is sent before the answer is read, and the connection does not stay."""
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), max_body=1000)
    async with served(tmp_path, ScriptedLLM([]), settings) as client:
        host, port = client.url.removeprefix("http://").split(":")

        def send() -> bytes:
            size = 5 << 20
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.sendall(head(client, size).encode() + b"x" * size)
                connection.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: connection.recv(65536), b""))

        with anyio.fail_after(20):
            answer = await anyio.to_thread.run_sync(send)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"body-too-large" in answer
        assert (await client.ask("GET", "/alive"))[0] == 200


async def test_who_goes_away_in_the_middle_keeps_nothing_waiting(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, workspaces=(tmp_path / "workspaces",), max_body=1000)
    with anyio.fail_after(4):  # less than a server waits for connections that stay
        async with served(tmp_path, ScriptedLLM([]), settings) as client:
            host, port = client.url.removeprefix("http://").split(":")
            for size in (2000, 1 << 20):
                with socket.create_connection((host, int(port)), timeout=10) as connection:
                    connection.sendall(head(client, 10 << 20).encode() + b"x" * size)
            assert (await client.ask("GET", "/alive"))[0] == 200
