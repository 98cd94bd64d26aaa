"""A kernel that has only just started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
import zmq
from jupyter_client.asynchronous.client import AsyncKernelClient

from agentrt.sandboxes.here import THIS_MACHINE
from agentrt.tools.ipython.kernel import Kernel, ignored

pytestmark = pytest.mark.real

SECONDS = 60


class Late(AsyncKernelClient):
    """Connects the channel for input late."""

    def connect_stdin(self, identity: bytes | None = None) -> Any:
        self.context.setsockopt(zmq.RECONNECT_IVL, 2_000)  # ms, of sockets that are made from here on
        socket = super().connect_stdin(identity)
        self.context.setsockopt(zmq.RECONNECT_IVL, 100)
        return socket


async def test_input_is_asked_though_its_channel_is_connected_late(tmp_path: Path) -> None:
    """A kernel drops a request for input while the stdin channel is not connected, and its cell waits without end."""
    prompts = []

    async def asked(prompt: str, password: bool) -> str:
        prompts.append(prompt)
        return "Ada"

    with anyio.fail_after(SECONDS):
        kernel = await Kernel.started(THIS_MACHINE, await THIS_MACHINE.python(), str(tmp_path), str, Late)
        try:
            assert await kernel.run("name = input('Your name? ')\nassert name == 'Ada'", ignored, asked)
        finally:
            await kernel.end()
    assert prompts == ["Your name? "]
