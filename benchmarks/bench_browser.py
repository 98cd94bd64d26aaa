"""What does a browser cost: a step of ours over Playwright's own, and many conversations in one browser?

A step is a click on a page of this machine, with the tree of the page after it; Playwright's own is the same click and
the same snapshot. Then conversations share one browser, each with a context of its own, and step at the same time.

It uses the tests' own site: PYTHONPATH=. python benchmarks/bench_browser.py
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import harness
import msgspec
import psutil
from tests.tools.browser.site import site
from tests.tools.context import FakeContext

from agentrt.actors.core.leases import Leases
from agentrt.tools.browser import BROWSER_TOOLS

GOAL_MS = 100
STEPS = 30
KINDS = {kind.name: kind for kind in BROWSER_TOOLS}


class Caller:
    """One conversation that browses."""

    def __init__(self, leases: Leases, place: Path) -> None:
        self._context = FakeContext(place)
        self._context.leases = leases
        self._executors = {name: kind.executor({}) for name, kind in KINDS.items()}

    async def __call__(self, name: str, **arguments: Any) -> float:
        """Milliseconds of a call."""
        action = KINDS[name].read(msgspec.Raw(msgspec.json.encode(arguments)))
        begun = time.perf_counter()
        await self._executors[name](action, self._context)
        return (time.perf_counter() - begun) * 1e3

    async def page(self) -> Any:
        """The page of the library."""
        held = self._executors["browser_click"]._held  # type: ignore[attr-defined]
        return await (await held.session(self._context)).page()

    async def close(self) -> None:
        for executor in self._executors.values():
            await executor.aclose()


async def _bare(page: Any) -> float:
    begun = time.perf_counter()
    await page.locator("button").first.click()
    await page.aria_snapshot(mode="ai", boxes=True)
    return (time.perf_counter() - begun) * 1e3


async def steps(place: Path, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds of Playwright's own steps, and of ours, taken in turns."""
    async with site() as address, Leases() as leases:
        caller = Caller(leases, place)
        await caller("browser_navigate", url=address)
        await caller("browser_click", index=3)
        page = await caller.page()
        bare, ours = [], []
        for _ in range(count):
            bare.append(await _bare(page))
            ours.append(await caller("browser_click", index=3))
        await caller.close()
        return bare, ours


async def side_by_side(place: Path, conversations: int, count: int) -> tuple[list[float], float]:
    """Milliseconds of steps, and MiB of the browser's memory for each conversation."""
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(site())
        leases = await stack.enter_async_context(Leases())
        callers = [Caller(leases, place) for _ in range(conversations)]
        await asyncio.gather(*(caller("browser_navigate", url=address) for caller in callers))

        async def work(caller: Caller) -> list[float]:
            return [await caller("browser_click", index=3) for _ in range(count)]

        times = [one for each in await asyncio.gather(*map(work, callers)) for one in each]
        processes = [one for one in psutil.Process().children(recursive=True) if "chrom" in one.name()]
        memory = sum(one.memory_full_info().pss for one in processes) / 2**20
        for caller in callers:
            await caller.close()
        return times, memory / conversations


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    count, conversations = (5, 3) if options.quick else (STEPS, 20)
    with tempfile.TemporaryDirectory() as place:
        bare, ours = asyncio.run(steps(Path(place), count))
        times, memory = asyncio.run(side_by_side(Path(place), conversations, max(count // 3, 2)))
    more = [our - own for own, our in zip(bare, ours, strict=True)]
    figures = [
        harness.Figure("a step of Playwright's own", bare, "ms"),
        harness.Figure("a step of ours", ours, "ms"),
        harness.Figure("a step of ours, more than Playwright's own", more, "ms", GOAL_MS),
        harness.Figure(f"a step, {conversations} conversations in one browser", times, "ms"),
        harness.Figure("the same, p99", [statistics.quantiles(times, n=100)[98]], "ms"),
        harness.Figure("memory of the browser a conversation", [memory], "MiB"),
    ]
    harness.report("bench_browser: steps in a browser", figures, options.json)


if __name__ == "__main__":
    main()
