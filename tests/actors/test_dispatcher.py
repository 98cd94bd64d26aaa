"""The dispatcher: who waits for the end of what runs is told of it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from types import SimpleNamespace
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from agentrt.actors.core import Supervisor
from agentrt.actors.dispatcher import Dispatcher, Perform, Performer
from agentrt.actors.event_log import Log
from agentrt.decisions import CallModel
from agentrt.state import State

pytestmark = pytest.mark.simulated


class Held(AbstractAsyncContextManager["Held"]):
    """A performer that ends when it is let."""

    def __init__(self) -> None:
        self.begun, self.go_on = anyio.Event(), anyio.Event()

    async def __aexit__(self, *_: object) -> None:
        return None

    async def handle(self, message: Perform) -> None:
        self.begun.set()
        await self.go_on.wait()


async def test_all_who_wait_for_the_end_are_told() -> None:
    """An interrupt waits, and who closes the conversation meanwhile does, too."""
    held = Held()
    async with Supervisor() as supervisor:
        dispatcher = Dispatcher(supervisor, lambda name: Performer(cast("Any", lambda: held), 1))
        dispatcher.attach(cast("Log", SimpleNamespace(state=State())))
        dispatcher.hand_out([CallModel("call-1")])
        with anyio.fail_after(30):
            await held.begun.wait()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(dispatcher.wait_idle)
                tasks.start_soon(dispatcher.wait_idle)
                await anyio.lowlevel.checkpoint()
                await anyio.lowlevel.checkpoint()
                held.go_on.set()
        await dispatcher.wait_idle()
