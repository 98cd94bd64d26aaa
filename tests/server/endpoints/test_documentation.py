from __future__ import annotations

import threading
from functools import partial
from types import SimpleNamespace
from typing import Any

import anyio

from agentrt.server.endpoints.documentation import documentation
from agentrt.server.principals import NOBODY
from agentrt.server.routing import Call


async def test_the_document_is_made_once_for_each_kind_of_server_and_off_the_loop() -> None:
    made: list[tuple[bool, int]] = []

    def describe(endpoints: Any, *, keys: bool) -> dict[str, Any]:
        made.append((keys, threading.get_ident()))
        return {"endpoints": len(endpoints), "keys": keys}

    bodies: list[bytes] = []
    endpoint = documentation((), describe)

    async def ask(*, is_open: bool) -> None:
        services: Any = SimpleNamespace(access=SimpleNamespace(is_open=is_open))
        request: Any = None
        answer = await endpoint.handle(Call(request, services, NOBODY, None, None))
        bodies.append(bytes(answer.body))

    for is_open in (False, True, False):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(partial(ask, is_open=is_open))
    assert bodies == [
        *[b'{"endpoints":1,"keys":true}'] * 5,
        *[b'{"endpoints":1,"keys":false}'] * 5,
        *[b'{"endpoints":1,"keys":true}'] * 5,
    ]
    assert [keys for keys, _ in made] == [True, False]
    assert all(thread != threading.get_ident() for _, thread in made)
