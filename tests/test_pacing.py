from __future__ import annotations

import asyncio
from functools import partial

import pytest

from agentrt.pacing import Pace

pytestmark = pytest.mark.simulated


async def test_few_are_done_at_once() -> None:
    pace, done = Pace(3), list[int]()
    for number in range(3):
        pace.give(partial(done.append, number))
    assert done == [0, 1, 2]


async def test_many_are_done_in_order_some_in_each_round() -> None:
    pace, done = Pace(3), list[int]()
    for number in range(8):
        pace.give(partial(done.append, number))
    rounds = []
    while len(done) < 8:
        rounds.append(len(done))
        await asyncio.sleep(0)
    assert done == list(range(8))
    assert rounds == [3, 6]


async def test_who_comes_later_waits_for_those_who_wait() -> None:
    pace, done = Pace(1), list[str]()

    async def one(name: str) -> None:
        await pace.turn()
        done.append(name)

    await asyncio.gather(*(one(name) for name in "abcd"))
    assert done == list("abcd")


async def test_who_left_holds_up_nobody() -> None:
    pace = Pace(1)
    tasks = [asyncio.ensure_future(pace.turn()) for _ in range(4)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.wait_for(asyncio.gather(tasks[0], tasks[1], tasks[3]), 5)


async def test_all_that_wait_can_be_done_at_once() -> None:
    pace, done = Pace(2), list[int]()
    for number in range(9):
        pace.give(partial(done.append, number))
    pace.hurry()
    assert done == list(range(9))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    pace.give(lambda: done.append(9))
    assert done[-1] == 9
