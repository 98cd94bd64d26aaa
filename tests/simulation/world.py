"""`World`: a machine on which processes live, crash and live again; all that happens is drawn from a seed."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from random import Random
from typing import Any, Final, TypeVar

import anyio

from .loop import VirtualLoop, run
from .storage import SimulatedStorage

T = TypeVar("T")
CRASHED: Final = "crashed"
LONGEST: Final = 10_000.0
"""Seconds of the loop's time in which whatever is lived has ended."""
SEEDS: Final = "AGENTRT_SEEDS"
"""The environment variable that names the seeds to try: "7", or "0-1999"."""


class World:
    """One seed. `storage` is what the process that lives now has; `alive` is False once it has crashed."""

    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self.seed, self.loop = seed, loop
        self.crashes = 0
        self.chance = Random(f"{seed}")
        """What is drawn in this life. Each has its own: what a crashed process still draws changes nothing later."""
        self.storage = SimulatedStorage(self.chance)

    @property
    def alive(self) -> bool:
        """Whether what is done now has an effect outside of the process."""
        return not self.storage.disk.crashed

    def crash(self) -> None:
        """End the process now: what is not durable is lost, and nothing that it still does has an effect."""
        self.storage.crash()
        self.loop.at_round(lambda number: None)

    async def cancel(self, process: Callable[[], Awaitable[T]], after: float) -> T | None:
        """Run a process that is cancelled after about so many rounds of the loop, and ends as it likes: then None."""
        at = self.loop.rounds + 1 + int(self.chance.expovariate(1 / after))
        result = None
        with anyio.CancelScope() as scope:

            def look(number: int) -> None:
                if number == at:
                    self.loop.call_soon(scope.cancel)

            self.loop.at_round(look)
            result = await process()
        self.loop.at_round(lambda number: None)
        return result

    async def live(self, process: Callable[[], Awaitable[T]], crash_after: float | None = None) -> T | None:
        """Run a process to its end; or let it crash, after about so many rounds of the loop: then None.

        It may also crash itself.
        """
        with anyio.CancelScope() as scope:
            if crash_after is not None:
                self._crash_at(self.loop.rounds + 1 + int(self.chance.expovariate(1 / crash_after)), scope)
            try:
                result = await process()
            except Exception:
                if self.alive:
                    raise
            else:
                if self.alive:
                    self.loop.at_round(lambda number: None)
                    return result
        self.crashes += 1
        self.chance = Random(f"{self.seed} {self.crashes}")
        self.storage = self.storage.after_crash(self.chance)
        return None

    def _crash_at(self, round: int, scope: anyio.CancelScope) -> None:
        def look(number: int) -> None:
            if number >= round:
                self.crash()
                self.loop.call_soon(scope.cancel)

        self.loop.at_round(look)


def seeds(count: int) -> Iterable[int]:
    """The seeds of a test: so many, or those that `AGENTRT_SEEDS` names."""
    if not (named := os.environ.get(SEEDS)):
        return range(count)
    first, _, last = named.partition("-")
    return range(int(first), int(last or first) + 1)


def each_seed(count: int, life: Callable[[World], Awaitable[Any]], test: str) -> list[World]:
    """Run a life for each seed. A failure names its seed, and the command that repeats it; `test` is its node's id."""
    worlds = []
    with suppress(Exception):  # what is loaded once is there for each seed, however few; each finds faults itself
        run(lambda loop: _life(World(-1, loop), life))
    for seed in seeds(count):
        try:
            worlds.append(run(lambda loop: _life(World(seed, loop), life)))  # noqa: B023
        except BaseException as error:
            error.add_note(f"seed {seed}; again: {SEEDS}={seed} pytest -m '' '{test}'")
            raise
    return worlds


async def _life(world: World, life: Callable[[World], Awaitable[Any]]) -> World:
    with anyio.fail_after(LONGEST):
        await life(world)
    return world
