"""A kernel that has only just started."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
import zmq
from jupyter_client.asynchronous.client import AsyncKernelClient

from agentrt.tools.ipython.kernel import Kernel, ignored

pytestmark = pytest.mark.real

SECONDS = 60


async def test_input_is_asked_though_its_channel_is_connected_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel drops a request for input while the stdin channel is not connected, and its cell waits without end."""
    connect = AsyncKernelClient.connect_stdin

    def late(client: AsyncKernelClient, identity: bytes | None = None) -> Any:
        client.context.setsockopt(zmq.RECONNECT_IVL, 2_000)  # ms, of sockets that are made from here on
        socket = connect(client, identity)
        client.context.setsockopt(zmq.RECONNECT_IVL, 100)
        return socket

    monkeypatch.setattr(AsyncKernelClient, "connect_stdin", late)
    prompts = []

    async def asked(prompt: str, password: bool) -> str:
        prompts.append(prompt)
        return "Ada"

    with anyio.fail_after(SECONDS):
        kernel = await Kernel.started(sys.executable, str(tmp_path), "test", str)
        try:
            assert await kernel.run("name = input('Your name? ')\nassert name == 'Ada'", ignored, asked)
        finally:
            await kernel.end()
    assert prompts == ["Your name? "]
