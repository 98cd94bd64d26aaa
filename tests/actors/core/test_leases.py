"""What several share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from anyio import wait_all_tasks_blocked

from agentrt.actors.core.leases import Leases

pytestmark = pytest.mark.simulated


class Thing:
    """Counts how often it was opened and closed."""

    def __init__(self, error: Exception | None = None) -> None:
        self.opened = self.closed = 0
        self.error, self.gate = error, anyio.Event()
        self.gate.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        """Open it, once the gate is open."""
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        self.opened += 1
        try:
            with anyio.CancelScope():  # bound to its task
                yield self.opened
        finally:
            self.closed += 1


async def test_it_is_opened_by_the_first_and_closed_by_the_last() -> None:
    thing = Thing()
    async with Leases() as leases:
        one, other = await leases.lease("a", thing.open), await leases.lease("a", thing.open)
        assert (one.value, other.value, thing.opened) == (1, 1, 1)
        one.release()
        one.release()
        await wait_all_tasks_blocked()
        assert thing.closed == 0
        with pytest.raises(RuntimeError, match="given back"):
            _ = one.value
        other.release()
        await wait_all_tasks_blocked()
        assert thing.closed == 1
        assert (await leases.lease("a", thing.open)).value == 2
    assert thing.closed == 2


async def test_what_has_ended_is_opened_anew() -> None:
    thing = Thing()
    async with Leases() as leases:
        one, other = await leases.lease("a", thing.open), await leases.lease("a", thing.open)
        one.end()
        assert other.ended
        again = await leases.lease("a", thing.open)
        assert (again.value, again.ended) == (2, False)
        one.release()
        other.release()
        await wait_all_tasks_blocked()
        assert (thing.closed, again.ended) == (1, False)


async def test_what_opening_raises_reaches_all_who_wait() -> None:
    thing, raised = Thing(ValueError("no")), list[str]()
    thing.gate = anyio.Event()
    async with Leases() as leases, anyio.create_task_group() as tasks:

        async def ask() -> None:
            with pytest.raises(ValueError, match="no"):
                await leases.lease("a", thing.open)
            raised.append("no")

        tasks.start_soon(ask)
        tasks.start_soon(ask)
        await wait_all_tasks_blocked()
        thing.gate.set()
    assert raised == ["no", "no"]


async def test_one_who_is_cut_while_it_is_opened_leaves_nothing() -> None:
    thing = Thing()
    thing.gate = anyio.Event()
    async with Leases() as leases:
        with anyio.move_on_after(0):
            await leases.lease("a", thing.open)
        thing.gate.set()
        await wait_all_tasks_blocked()
        assert (thing.opened, thing.closed) in ((0, 0), (1, 1))
        assert (await leases.lease("a", thing.open)).value == thing.opened


async def test_who_is_at_the_top_of_a_tree() -> None:
    async with Leases() as leases:
        assert leases.root("a", None) == "a"
        assert leases.root("b", "a") == "a"
        assert leases.root("c", "b") == "a"
        assert leases.root("x", "x") == "x"
