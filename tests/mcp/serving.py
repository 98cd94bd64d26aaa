"""Servers of this directory over HTTP, each a process of its own."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import anyio.abc

from tests.mcp.warm import ROOT, warm
from tests.proofs.waiting import eventually


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@asynccontextmanager
async def served(port: int, module: str = "tests.mcp.server", *more: str) -> AsyncIterator[anyio.abc.Process]:
    """A server that listens, as a process. It needs the fixture `warm_servers`."""
    command = warm(module, str(port), *more)
    async with await anyio.open_process(command, cwd=ROOT, stdout=None, stderr=None) as process:
        try:
            await eventually(lambda: listens(port), "it listens", 30)
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()


async def listens(port: int) -> bool:
    """Whether somebody listens on a port."""
    try:
        await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
    except OSError:
        return False
    return True
