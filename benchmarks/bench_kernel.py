"""What does a cell cost beside the library's own, twenty calls of tools in one cell, and an interrupt of both?

A cell of the tool and one that `jupyter_client` runs by itself (`execute_interactive`, in a kernel of its own) are
timed in turns. A conversation with twenty calls in one cell is timed beside one in which the model asks for each. Then
a cell that waits for a call is interrupted, until neither is at work.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
from jupyter_client.manager import AsyncKernelManager
from tests.tools.context import FakeContext

from agentrt import LLM, Agent, Conversation, ExecutionStatus, NeverConfirm, Runtime, Tool
from agentrt.events import ActionEvent, ModelCalled, RiskAssessed
from agentrt.testing import ScriptedLLM, call, finish
from agentrt.tools.ipython import ipython
from agentrt.tools.ipython.ipython import IPythonAction

GOAL_MS = 20
CALLS = 20
CELL = "sum(range(1000))"
TWENTY = f"import asyncio\nawait asyncio.gather(*(tools.think(thought=str(n)) for n in range({CALLS})))\nNone"


async def cells(place: Path, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds of the library's own cells, and of the tool's, taken in turns."""
    manager, executor, context = AsyncKernelManager(), ipython.executor({}), FakeContext(place)
    await manager.start_kernel(cwd=str(place))
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready()
    bare, ours = [], []
    try:
        for number in range(count + 1):
            begun = time.perf_counter()
            await client.execute_interactive(CELL, output_hook=lambda message: None)
            between = time.perf_counter()
            await executor(IPythonAction(CELL), context)
            if number:  # the first one starts the kernel
                bare.append((between - begun) * 1e3)
                ours.append((time.perf_counter() - between) * 1e3)
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
        await executor.aclose()
    return bare, ours


async def twenty(place: Path, turns: list[Any]) -> tuple[float, int, int]:
    """Milliseconds of a run with its kernel started, its model calls, and the rated actions that its tools did."""
    agent = Agent(
        llm=LLM(model="scripted"), tools=(Tool("ipython"),), confirmation=NeverConfirm(), analyzer="rules", stuck=None
    )
    model = ScriptedLLM([call("ipython", code="None"), finish("ready"), *turns, finish("ok")])
    async with Runtime(place / f"store-{len(turns)}", client=model) as runtime:
        async with Conversation(agent, place, runtime=runtime) as talk:
            await talk.send_message("begin")
            await talk.run()
            first, begun = talk.state.seq, time.perf_counter()
            await talk.send_message("go")
            state = await talk.run()
            seconds = time.perf_counter() - begun
            assert state.status is ExecutionStatus.FINISHED, state.error
            log = [event async for event in talk.events(first)]
    thoughts = {event.id for event in log if isinstance(event, ActionEvent) and event.tool_name == "think"}
    rated = {event.action_id for event in log if isinstance(event, RiskAssessed)} & thoughts
    return seconds * 1e3, sum(isinstance(event, ModelCalled) for event in log) - 1, len(rated)


async def interrupted(place: Path, count: int) -> list[float]:
    """Milliseconds from an interrupt to when neither a cell nor the command that it waits for is at work."""
    agent = Agent(llm=LLM(model="scripted"), tools=(Tool("ipython"), Tool("terminal")), confirmation=NeverConfirm())
    waits = call("ipython", code="await tools.terminal(command='sleep 60')")
    times = []
    async with Runtime(place / "store", client=ScriptedLLM([waits] * count)) as runtime:
        async with Conversation(agent, place, runtime=runtime) as talk:
            for _ in range(count):
                await talk.send_message("go")
                run = asyncio.ensure_future(_until_rest(talk))
                while len([p for p in talk.state.branch.pending if p.command is not None]) < 2:
                    await asyncio.sleep(0.01)
                begun = time.perf_counter()
                await talk.interrupt("enough")
                await run
                assert not talk.state.branch.pending
                times.append((time.perf_counter() - begun) * 1e3)
    return times


async def _until_rest(talk: Conversation) -> None:
    await talk.run()


def main() -> None:
    """Measure, and report."""
    options = harness.parser(__doc__).parse_args()
    count = 5 if options.quick else 50
    with tempfile.TemporaryDirectory() as place:
        bare, ours = asyncio.run(cells(Path(place), count))
        together, calls, rated = asyncio.run(twenty(Path(place), [call("ipython", code=TWENTY)]))
        thoughts = [call("think", thought=str(number)) for number in range(CALLS)]
        each, more_calls, more_rated = asyncio.run(twenty(Path(place), thoughts))
        ends = asyncio.run(interrupted(Path(place), 2 if options.quick else 10))
    assert (calls, rated, more_calls, more_rated) == (1, CALLS, CALLS, CALLS), (calls, rated, more_calls, more_rated)
    figures = [
        harness.Figure("a cell of jupyter_client's own", bare, "ms"),
        harness.Figure("a cell of ours", ours, "ms"),
        harness.Figure("a cell of ours, more than the library's own, median", [_more(bare, ours)], "ms", GOAL_MS),
        harness.Figure(f"{CALLS} calls of tools in one cell: {calls} model call", [together], "ms"),
        harness.Figure(f"{CALLS} calls of tools, a reply each: {more_calls} model calls", [each], "ms"),
        harness.Figure("an interrupt, until cell and command have ended", ends, "ms"),
    ]
    harness.report("bench_kernel: cells in a kernel", figures, options.json)


def _more(bare: list[float], ours: list[float]) -> float:
    return statistics.median(ours) - statistics.median(bare)


if __name__ == "__main__":
    main()
