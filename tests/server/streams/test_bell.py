from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from agentrt.pacing import Pace
from agentrt.server.streams.bell import AT_ONCE, Bell

pytestmark = pytest.mark.simulated


async def test_some_are_woken_in_each_round_the_first_first() -> None:
    pace, woken = Pace(3), list[int]()
    bells = [Bell(pace) for _ in range(8)]

    async def sleep(number: int) -> None:
        await bells[number].wait()
        woken.append(number)

    tasks = [asyncio.ensure_future(sleep(number)) for number in range(8)]
    await asyncio.sleep(0)
    for bell in bells:
        bell.ring()
        bell.ring()
    rounds = []
    while len(woken) < 8:
        await asyncio.sleep(0)
        rounds.append(len(woken))
    assert woken == list(range(8))
    assert rounds[0] <= 3
    assert all(after - before <= 3 for before, after in pairwise(rounds))
    await asyncio.gather(*tasks)


async def test_rings_while_it_works_are_one() -> None:
    bell = Bell(Pace(AT_ONCE))
    bell.ring()
    bell.ring()
    await bell.wait()
    waiting = asyncio.ensure_future(bell.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    bell.ring()
    await waiting


async def test_one_who_left_holds_up_nobody() -> None:
    pace = Pace(1)
    bells = [Bell(pace) for _ in range(3)]
    tasks = [asyncio.ensure_future(bell.wait()) for bell in bells]
    await asyncio.sleep(0)
    for bell in bells:
        bell.ring()
    tasks[1].cancel()
    await asyncio.wait_for(asyncio.gather(tasks[0], tasks[2]), 5)


async def test_what_is_done_at_once_wakes_nobody() -> None:
    asked, done = list[bool](), True

    def at_once() -> bool:
        asked.append(waiting.done())
        return done

    bell = Bell(Pace(AT_ONCE), at_once)
    bell.ring()
    await bell.wait()
    assert not asked, "only while the task waits"
    waiting = asyncio.ensure_future(bell.wait())
    await asyncio.sleep(0)
    bell.ring()
    bell.ring()
    await asyncio.sleep(0)
    assert not waiting.done()
    done = False
    bell.ring()
    await waiting
    assert asked == [False] * 3


async def test_what_goes_wrong_at_once_is_of_the_task_that_waits() -> None:
    def at_once() -> bool:
        raise ValueError("no text")

    bell, other = Bell(Pace(AT_ONCE), at_once), Bell(Pace(AT_ONCE))
    tasks = [asyncio.ensure_future(one.wait()) for one in (bell, other)]
    await asyncio.sleep(0)
    bell.ring()
    other.ring()
    await tasks[1]
    with pytest.raises(ValueError, match="no text"):
        await tasks[0]
