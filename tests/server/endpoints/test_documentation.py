from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from starlette.requests import Request

from agentrt.server.endpoints.documentation import documentation
from agentrt.server.principals import NOBODY
from agentrt.server.routing import Call

pytestmark = pytest.mark.simulated


async def test_the_document_is_made_once_and_off_the_loop() -> None:
    made: list[int] = []

    def describe(endpoints: Any) -> dict[str, Any]:
        made.append(threading.get_ident())
        return {"endpoints": len(endpoints)}

    bodies: list[bytes] = []
    endpoint = documentation((), describe)

    async def ask() -> None:
        nothing: Any = None
        answer = await endpoint.handle(Call(Request({"type": "http"}), nothing, NOBODY, None, None))
        bodies.append(bytes(answer.body))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(ask)
    assert bodies == [b'{"endpoints":1,"servers":[{"url":"/"}]}'] * 5
    assert len(made) == 1
    assert made[0] != threading.get_ident()
