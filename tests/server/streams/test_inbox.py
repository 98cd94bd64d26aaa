from __future__ import annotations

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentrt.server.streams.inbox import Inbox

pytestmark = pytest.mark.simulated


async def test_messages_are_taken_in_order_and_a_full_inbox_makes_wait() -> None:
    inbox, put = Inbox(most=2, stall=60.0), list[int]()

    async def fill() -> None:
        for number in range(4):
            await inbox.put(str(number))
            put.append(number)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fill)
        await wait_all_tasks_blocked()
        assert put == [0]
        assert [await inbox.get() for _ in range(4)] == ["0", "1", "2", "3"]
        await wait_all_tasks_blocked()
        assert put == [0, 1, 2, 3]


async def test_where_nothing_is_taken_one_more_is_read_after_a_while() -> None:
    inbox = Inbox(most=1, stall=0.01)
    with anyio.fail_after(30):
        await inbox.put("0")
        await inbox.put("1")
    assert [await inbox.get(), await inbox.get()] == ["0", "1"]


async def test_it_says_when_all_was_worked_on() -> None:
    inbox, done = Inbox(), list[str | bytes]()

    async def work() -> None:
        while True:
            message = await inbox.get()
            await anyio.lowlevel.checkpoint()
            done.append(message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        await inbox.put("0")
        await inbox.put("1")
        await inbox.worked_on()
        assert done == ["0", "1"]
        tasks.cancel_scope.cancel()
